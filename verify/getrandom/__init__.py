"""Prove that a compiled getrandom does what `specs.getrandom` says, on every path.

The function is executed symbolically from its entry to its returns. ChaCha20 is replaced by its
contract, system calls and barriers by theirs, and loops that move bytes are closed by induction.
What a path does, as a sequence of events, is then compared with what the specification does under
the conditions of that path.
"""
