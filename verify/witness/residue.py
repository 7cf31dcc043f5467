"""Confirm that a register at return depends on the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.arch import Saved
from verify.witness.breach import Breach
from verify.witness.execution import execute
from verify.witness.registers import observed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.target import Target
    from verify.witness.inputs import Inputs


def confirm_residue(
    target: Target, inputs: Inputs, others: Sequence[Inputs], register: str
) -> Breach | None:
    """The breach of `secrecy` that a register at return is if it differs between calls.

    `others` are the same call with other keys. None if all return with the same value, or where
    QEMU does not show the register. Raises QemuError as `execute` does.
    """
    if register not in {shown.name for shown in observed(target.architecture, *Saved)}:
        return None
    returned = [one for one in execute(target, [inputs, *others]) if one.returned]
    for other in returned[1:]:
        first = returned[0]
        if first.register(register) != other.register(register):
            return Breach(
                "secrecy",
                register,
                f"at return {register} depends on the key",
                "the same value for every key",
                f"{first.register(register):#x}, with another key {other.register(register):#x}",
                inputs,
                other=other.inputs,
            )
    return None
