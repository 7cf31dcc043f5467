"""The getrandom of an image as it runs: what the kernel makes of its code when it boots, and where
it maps the kernel's data, which is found by executing the code, or known of its release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from specs.getrandom_world import Call
from specs.opaque_state import KEY_BYTES, KEY_OFFSET, STATE_BYTES
from verify.alternatives import Unreadable, alternatives_in
from verify.arch.getrandom_port import OWN_PAGE, GetrandomPort
from verify.arch.kerneldata import Layout, Release
from verify.errors import InputError
from verify.history.execution import execute
from verify.history.model import Answer, Done, Program, Step
from verify.history.program import program_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    version = image.elf.linux_version
    layouts = _layouts(program.architecture.getrandom_port, version[:2] if version else OWN_PAGE)
    mapped = _mapped(program_in(image, NOT_FOUND, applied), layouts)
    return Booted(mapped, applied, tuple(one for one in holding if one.refused))


def _layouts(port: GetrandomPort | None, release: Release) -> Iterator[Layout]:
    """Where that release of Linux may have the data: on the page for the time, or on one of their
    own, wherever that is."""
    shared = [None if port is None else port.layout(pages, release) for pages in PAGE_SIZES]
    found = [layout for layout in shared if layout is not None and layout.namespace is not None]
    yield from found
    if not found:
        for distance in range(PAGE_SIZES[0], FARTHEST + 1, PAGE_SIZES[0]):
            yield from (Layout(pages, distance) for pages in PAGE_SIZES)


def _mapped(program: Program, layouts: Iterable[Layout]) -> Program:
    """The program with the one of the layouts that it is made for; raises Unplaced."""
    said = ""
    for _, group in groupby(layouts, lambda layout: layout.data_page):
        alike = [replace(program, layout=layout) for layout in group]
        done = _called(alike[0], _STATE)
        said = f" ({done.breaches[0].text})" if done.breaches else ""
        if not done.made or done.made[0].call.buffer != _STATE + KEY_OFFSET:
            continue
        for placed in alike:
            done = _called(placed, _STATE + placed.page_bytes - STATE_BYTES + 1)
            if done.result == -_EFAULT and not done.made:
                return placed
    raise Unplaced(f"it reads no data page within {FARTHEST:#x} bytes in front of the image{said}")


def _called(program: Program, state: int) -> Done:
    """What a call does with a new state at an address."""
    call = Call(_BUFFER, 1, 0, state, STATE_BYTES)
    key = Answer(KEY_BYTES, bytes(KEY_BYTES))
    step = Step(call, generation=1, buffer=b"\0", state=bytes(STATE_BYTES), answers=(key,))
    ((done,),) = execute(program, [(step,)])
    return done
