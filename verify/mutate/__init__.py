"""Mutants: a function with one change each, made to measure that no wrong program is proved."""
