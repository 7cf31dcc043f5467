"""Call the real bytes of a getrandom under QEMU, again and again, and say what each call does.

A history is a sequence of calls with one state, and what each of them meets: the data page, the
kernel's answers to its system calls, and what happens to the state meanwhile. System calls are not
carried out but noted, with the state at that moment, and answered as the history says. What the
specification says of the same history is `specified`; `departure` is where the two part.
"""

from verify.history.departure import departure
from verify.history.execution import execute
from verify.history.model import Answer, Done, History, Interruption, Made, Program, Step
from verify.history.program import program_in
from verify.history.specified import is_possible, possible, specified

__all__ = [
    "Answer",
    "Done",
    "History",
    "Interruption",
    "Made",
    "Program",
    "Step",
    "departure",
    "execute",
    "is_possible",
    "possible",
    "program_in",
    "specified",
]
