"""What a validation says: one row for each instruction compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verify.validate.encodings import Form

TRIALS = 1000
"""Random calls of a whole function that are compared, as many as the kernel's own test makes."""


@dataclass(frozen=True)
class Mismatch:
    """The first state on which QEMU and the harness's reading differ.

    `where` is a register, "memory at 0x...", or "control flow" (then the values are addresses).
    `expected` is QEMU's value, `got` ours; unsigned numbers, memory in bytes. `registers` and
    `memory` ((address, bytes) at which it is not zero) are the state before the instruction, by
    the names of `verify.qemu`; `instruction` is the address at which it was executed.
    """

    where: str
    expected: int
    got: int
    registers: Mapping[str, int]
    memory: tuple[tuple[int, bytes], ...]
    instruction: int


@dataclass(frozen=True)
class Row:
    """One instruction on a number of states.

    `code` are its bytes, `text` its disassembly. `occurs` tells whether it is in a target; the
    others have the same form with other operands. `reason` says why it is not, or not wholly,
    compared; it is empty where it is. `undefined` are the registers that were not compared in
    states in which the manual leaves them undefined.
    """

    code: bytes
    text: str
    form: Form
    occurs: bool
    states: int
    mismatches: int
    first: Mismatch | None
    reason: str
    undefined: tuple[str, ...] = ()

    @property
    def mnemonic(self) -> str:
        """The first word of the text."""
        return self.text.split(maxsplit=1)[0]

    @property
    def checked(self) -> bool:
        """Whether every register that is defined, byte of memory and branch target was compared."""
        return not self.reason

    @property
    def passed(self) -> bool:
        """Whether it was compared and never differed."""
        return self.checked and not self.mismatches and self.states > 0


@dataclass(frozen=True)
class Group:
    """All rows of one form."""

    form: Form
    rows: tuple[Row, ...]

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """How the instructions that occur are called, or all if none does: one form may have
        several names, of simplified mnemonics."""
        rows = [row for row in self.rows if row.occurs] or self.rows
        return tuple(dict.fromkeys(row.mnemonic for row in rows))

    @property
    def states(self) -> int:
        """States compared, of all instructions."""
        return sum(row.states for row in self.rows)

    @property
    def mismatches(self) -> int:
        """States that differed, of all instructions."""
        return sum(row.mismatches for row in self.rows)

    @property
    def reason(self) -> str:
        """Why something of the form is not compared; empty where all is."""
        return next((f"{row.text}: {row.reason}" for row in self.rows if row.reason), "")

    @property
    def undefined(self) -> tuple[str, ...]:
        """What was not compared, since the manual leaves it undefined."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.undefined))

    @property
    def passed(self) -> bool:
        """Whether every instruction was compared and never differed."""
        return all(row.passed for row in self.rows)


@dataclass(frozen=True)
class Validation:
    """The comparison of one architecture's instructions.

    `executor` is QEMU's version line (empty where there is no QEMU), `semantics` the version of
    the semantics as in `verify.validate.record`. `unmodelled` names bits of registers which the
    harness has no variable for, so that they are set but not compared. `states` is the least
    number of states for an instruction that occurs. `reason` says why there are no rows at all,
    `lifter` is what read the instructions, `vex` or `pcode`.
    """

    architecture: str
    executor: str
    semantics: str
    states: int
    seed: int
    unmodelled: tuple[str, ...]
    rows: tuple[Row, ...]
    reason: str = ""
    lifter: str = ""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The rows by form, in the order in which the forms first occur."""
        found: dict[Form, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.form, []).append(row)
        return tuple(Group(form, tuple(rows)) for form, rows in found.items())

    @property
    def mismatches(self) -> int:
        """States that differed, of all rows."""
        return sum(row.mismatches for row in self.rows)

    @property
    def passed(self) -> bool:
        """Whether there are rows, and all were compared and never differed."""
        return bool(self.rows) and all(row.passed for row in self.rows)


@dataclass(frozen=True)
class Difference:
    """The first call on which QEMU and the symbolic result differ.

    `where` is a register, a place in memory, or "control flow" (then the values are addresses).
    `expected` is QEMU's value, `got` the symbolic one; bytes in memory. `key` are 32-bit words,
    `seed` chooses all else at entry (`verify.witness.Inputs`).
    """

    where: str
    expected: int
    got: int
    key: tuple[int, ...]
    counter: int
    nblocks: int
    seed: int


@dataclass(frozen=True)
class Whole:
    """The comparison of whole calls of one function.

    `variant` names what the kernel makes of it. `trials` calls were compared in all memory that is
    mapped and `registers` registers; `mismatches` of them differ. `reason` says why not all was
    compared; empty where it was.
    """

    source: str
    function: str
    variant: str
    trials: int = 0
    mismatches: int = 0
    first: Difference | None = None
    registers: int = 0
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether calls were compared and none differs."""
        return not self.reason and self.trials > 0 and not self.mismatches


def exit_code(validations: Iterable[Validation], wholes: Iterable[Whole] = ()) -> int:
    """0: all compared, none differs; 1: something differs; 3: something was not compared."""
    validations = tuple(validations)
    parts: tuple[Validation | Whole, ...] = (*validations, *wholes)
    if any(part.mismatches for part in parts):
        return 1
    return 0 if validations and all(part.passed for part in parts) else 3
