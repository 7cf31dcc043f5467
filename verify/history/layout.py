"""The getrandom of an image as it runs: what the kernel makes of its code when it boots, and where
it maps the data page, which is found by executing the code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specs.getrandom_world import Call
from specs.opaque_state import KEY_BYTES, KEY_OFFSET, STATE_BYTES
from verify.alternatives import Unreadable, alternatives_in
from verify.arch.kerneldata import Layout
from verify.errors import InputError
from verify.history.execution import execute
from verify.history.model import Answer, Done, Program, Step
from verify.history.program import program_in

if TYPE_CHECKING:
    from verify.image import Image
    from verify.target import Alternative

PAGE_SIZES = (0x1000, 0x4000, 0x1_0000)
"""Those that Linux has on the architectures with this function, in bytes."""
NOT_FOUND = Layout(PAGE_SIZES[-1], 0)
"""The layout of a program as long as its own is not known."""
FARTHEST = 0x4_0000
"""How many bytes in front of an image its data page is looked for."""
_STATE, _BUFFER, _EFAULT = 0x200_0000, 0x300_0000, 14


class Unplaced(Exception):
    """Why the data page of an image is not found, in words."""


@dataclass(frozen=True)
class Booted:
    """A program as the kernel patches it where the processor has each feature that the tables of
    the image ask for.

    `applied` are the alternatives that it has, `refused` those that cannot be written as the kernel
    would, in whose places the program has other code than what runs.
    """

    program: Program
    applied: tuple[Alternative, ...]
    refused: tuple[Alternative, ...]


def booted(image: Image) -> Booted:
    """The getrandom of an image as it runs; what a running process has is taken as it is.

    Raises InputError where there is none or its tables of alternatives cannot be read, Unplaced
    where its data page is not found, QemuError where QEMU is missing.
    """
    # As the file has it, with a layout that is still to be found.
    program = program_in(image, NOT_FOUND)
    found: tuple[Alternative, ...] = ()
    if not image.running:
        try:
            found = alternatives_in(image.elf, program.architecture)
        except Unreadable as error:
            raise InputError(image.name, str(error)) from None
    every = {name: True for one in found for name, _ in one.condition.features}
    holding = [one for one in found if one.condition.holds(every)]
    applied = tuple(one for one in holding if not one.refused)
    mapped = _mapped(program_in(image, NOT_FOUND, applied))
    return Booted(mapped, applied, tuple(one for one in holding if one.refused))


def _mapped(program: Program) -> Program:
    """The program with the data page that it reads, and with the size of its pages; raises
    Unplaced."""
    said = ""
    for distance in range(PAGE_SIZES[0], FARTHEST + 1, PAGE_SIZES[0]):
        placed = replace(program, layout=replace(program.layout, data_page=distance))
        done = _called(placed, _STATE)
        said = f" ({done.breaches[0].text})" if done.breaches else ""
        if not done.made or done.made[0].call.buffer != _STATE + KEY_OFFSET:
            continue
        for page_bytes in PAGE_SIZES:
            done = _called(placed, _STATE + page_bytes - STATE_BYTES + 1)
            if done.result == -_EFAULT and not done.made:
                return replace(placed, layout=Layout(page_bytes, distance))
    raise Unplaced(f"it reads no data page within {FARTHEST:#x} bytes in front of the image{said}")


def _called(program: Program, state: int) -> Done:
    """What a call does with a new state at an address."""
    call = Call(_BUFFER, 1, 0, state, STATE_BYTES)
    key = Answer(KEY_BYTES, bytes(KEY_BYTES))
    step = Step(call, generation=1, buffer=b"\0", state=bytes(STATE_BYTES), answers=(key,))
    ((done,),) = execute(program, [(step,)])
    return done
