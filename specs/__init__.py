"""Executable specifications of what the verified functions are to compute.

Nothing here depends on the verifier: a specification can be read, run and tested alone.
"""
