"""Prove properties of the getrandom functions in a Linux vDSO from the compiled bytes."""

__version__ = "0.1.0"
