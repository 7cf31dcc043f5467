"""Symbolic execution of a getrandom: what its paths do, from the entry to the returns."""
