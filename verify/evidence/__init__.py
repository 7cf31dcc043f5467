"""Counterexamples that a person can act on, and ways to run and to explain them."""
