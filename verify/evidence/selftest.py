"""A C program that shows a counterexample on the machine itself, in the manner of a kernel
selftest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specs.contract import ARGUMENTS
from verify.arch import ON_STACK, Saved
from verify.counterexample import Look, Observation
from verify.errors import InputError
from verify.evidence.calls import calls_of
from verify.evidence.contexts import CONTEXTS, Context
from verify.qemu import machine_of
from verify.qemu.machines.model import PROGRAM_COUNTER
from verify.witness import other_key
from verify.witness.registers import field_of, observed

if TYPE_CHECKING:
    from verify.arch import Architecture
    from verify.counterexample import Counterexample
    from verify.target import Target
    from verify.witness import Inputs

_TEMPLATE = Path(__file__).with_name("selftest.c.in")
_LARGEST = 1 << 20
_PASSES = 3
_ALIGNED = 16
_WORD = (1 << 64) - 1
_NOT_SET = frozenset({"zero", "ctr", "xer", "cr", "eflags", "nzcv"})
"""Registers that keep, at entry, what they held: not all of their bits are the program's to set."""


def selftest(target: Target, counterexample: Counterexample) -> str:
    """The C source. It exits with 0, 1 or 4 (of kernel selftests' exit codes) as it says itself.

    Raises InputError where there is no such program for the architecture.
    """
    architecture = target.architecture
    context = CONTEXTS.get(architecture.name)
    if context is None:
        known = ", ".join(CONTEXTS)
        raise InputError(
            target.source, f"no C program can be written for {architecture.title}, only for {known}"
        )
    parts = {
        "TITLE": _comment(f"Shows what is wrong in {target.function.name}: {counterexample.what}."),
        "SUBJECT": _subject(target, counterexample),
        "ARCHITECTURE": architecture.title,
        "DATA": "\n".join(_data(target, context, counterexample)),
        "PLACES": "\n".join(
            f"\tcase {n}: /* {name} */\n\t\treturn &({lvalue});"
            for n, (name, lvalue) in enumerate(context.places.items())
        ),
    }
    text = _TEMPLATE.read_text()
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _subject(target: Target, found: Counterexample) -> str:
    """What is shown of what."""
    where = ""
    if found.deviation is not None:
        where = f" The instruction at fault is {found.deviation:#x}: {found.deviation_text}."
    text = (
        f"The function at {target.function.address:#x} of {Path(target.source).name} (SHA-256 of"
        f" the image {target.image_sha256}). Expected: {found.expected}. Actual: {found.actual}."
        f"{where}"
    )
    return _comment(text)


def _comment(text: str) -> str:
    """Text as lines of a comment, which it cannot end."""
    return "\n * ".join(textwrap.wrap(text.replace("*/", "* /"), 94))


def _data(target: Target, context: Context, found: Counterexample) -> Iterator[str]:
    architecture = target.architecture
    first = min(segment.address for segment in target.segments)
    end = max(segment.address + len(segment.data) for segment in target.segments)
    if end - first > _LARGEST:
        raise InputError(target.source, "its segments are too far apart for a C program")
    image = bytearray(end - first)
    for segment in target.segments:
        image[segment.address - first : segment.address - first + len(segment.data)] = segment.data
    back = -(-len(image) // _ALIGNED) * _ALIGNED
    image += bytes(back + _ALIGNED - len(image))
    inputs, others = calls_of(found)
    places = list(context.places)
    yield f"#define FIRST 0x{first:x}UL /* address in the image of the copy's first byte */"
    yield f"#define SPAN 0x{len(image):x}UL"
    yield f"#define ENTRY 0x{target.function.address - first:x}UL"
    yield f"#define RETURN 0x{back:x}UL /* where the function returns to, a trap */"
    yield f"#define PLACES {len(places)} /* registers in a signal's context */"
    yield f"#define PC {places.index(PROGRAM_COUNTER)}"
    yield f"#define STACK_POINTER {_index(places, architecture, architecture.stack_pointer)}"
    back_in = architecture.return_address
    number = -1 if back_in == ON_STACK else _index(places, architecture, back_in)
    yield f"#define RETURN_ADDRESS {number} /* negative: on the stack */"
    for name, register in zip(ARGUMENTS, architecture.arguments, strict=False):
        yield f"#define ARGUMENT_{name.upper()} {_index(places, architecture, register)}"
    yield f"#define POPPED {architecture.popped_at_return}"
    yield f"#define STACK_ALIGNMENT {architecture.stack_alignment}"
    slots = max((at + size for at, size in architecture.linkage_area), default=0)
    yield f"#define CALLEE_SLOTS {slots} /* bytes above sp that are the function's */"
    fault_bytes = machine_of(architecture.name).fault_bytes
    following, looked_at = _around(target, found.observation)
    yield from _observed(found, following, first, fault_bytes)
    yield from _array_of_bytes("image", image)
    yield from _array_of_bytes("trap", architecture.illegal_instruction)
    untouched = {
        field.name
        for register in architecture.registers
        if register.saved is Saved.RESERVED
        and (field := field_of(architecture, register.name)) is not None
    }
    yield "static const enum handling handling[PLACES] = {"
    for number, name in enumerate(places):
        if name in untouched or name in _NOT_SET:
            yield f"\t[{number}] = {'KEEP' if name in untouched else 'SAME'},"
    yield "};"
    kept = (register.name for register in observed(architecture, Saved.CALLEE))
    yield from _parts("saved", places, architecture, kept)
    yield from _parts("looked_at", places, architecture, looked_at)
    for call, one in enumerate((inputs, *others, other_key(inputs))[:2]):
        yield f"static const struct value registers{call}[] = {{"
        for name, value in one.registers.items():
            field = field_of(architecture, name)
            if field is not None and field.name in places and field.name not in _NOT_SET:
                yield f"\t{{ {places.index(field.name)}, 0x{value & _WORD:x}UL }}, /* {name} */"
        yield "\t{ -1, 0 },\n};"
    yield "static const struct call calls[2] = {"
    for call, one in enumerate((inputs, *others, other_key(inputs))[:2]):
        yield _call(one, call)
    yield "};"


def _around(target: Target, at: Observation) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The instructions that can follow the one that is looked at, and the registers to look at."""
    if at.instruction is None:
        return (), (at.register,)
    if at.look is Look.DEPENDENCE:
        from verify.lift.angr_import import import_angr

        import_angr()
        from verify.observe import decisive_of

        decisive = decisive_of(target, at.instruction)
        if decisive.following:
            return decisive.following, ()
    else:
        decisive = None
    behind = at.instruction + target.instruction_size(at.instruction)
    return (behind,), (at.register,) if decisive is None else decisive.registers


def _observed(
    found: Counterexample, reached: Sequence[int], first: int, fault_bytes: int
) -> Iterator[str]:
    """What is watched, and where the edges of what is mapped lie."""
    at = found.observation
    watched, visits, following = -1, 1, [0]
    if at.instruction is not None:
        watched = at.instruction - first
        visits = 1 if at.look is Look.DEPENDENCE else _PASSES
        following = [address - first for address in reached]
    edge = at.region if at.look is Look.ACCESS else ""
    yield f"#define WATCHED {watched}L /* offset of an instruction to look behind, or negative */"
    yield f"#define VISITS {visits}"
    yield f"#define FOLLOWING {len(following)}"
    yield f"static const word following[] = {{ {', '.join(map(hex, following))} }};"
    for region in ("dst", "key", "counter", "stack"):
        yield f"#define EDGE_AT_{region.upper()} {int(region == edge)}"
    yield f"#define EDGE {at.offset if edge else 0}L"
    yield f"#define FAULT_BYTES {fault_bytes}L /* what the address of a fault is a multiple of */"
    if edge:
        yield f"#define EDGE_AREA {edge}"
    yield f"#define LOOK LOOK_{at.look.name}"
    yield f"#define OFFSET {at.offset}L"
    yield f"#define SIZE {at.size}"
    yield f"#define DIFFERENCE {int(bool(found.other_key or found.other_registers))}"
    yield f'#define LOOKED_AT "{_title(at)}"'


def _title(at: Observation) -> str:
    """What is tested besides, in words."""
    instruction = "" if at.instruction is None else f"the instruction at {at.instruction:#x}"
    match at.look:
        case Look.RETURN:
            return ""
        case Look.STACK_WRITE:
            return f"{instruction} writes no more than it may"
        case Look.REGISTER_WRITE:
            return f"{at.register} is as at entry around {instruction}"
        case Look.ACCESS:
            return f"no access at {at.region} {at.offset:+d}"
        case Look.REGISTER:
            return f"at return {at.register} does not tell the calls apart"
        case Look.DEPENDENCE:
            return f"{instruction} does the same in both calls"


def _call(inputs: Inputs, number: int) -> str:
    key = ", ".join(f"0x{word:08x}" for word in inputs.key)
    return (
        f"\t{{\n\t\t.key = {{ {key} }},\n\t\t.counter = 0x{inputs.counter:016x}ULL,\n"
        f"\t\t.nblocks = {inputs.nblocks},\n\t\t.in_place = {int(inputs.in_place)},\n"
        f"\t\t.registers = registers{number},\n\t}},"
    )


def _array_of_bytes(name: str, data: bytes | bytearray) -> Iterator[str]:
    yield f"static const u8 {name}[] = {{"
    for row in range(0, len(data), 16):
        yield "\t" + " ".join(f"0x{byte:02x}," for byte in data[row : row + 16])
    yield "};"


def _index(places: Sequence[str], architecture: Architecture, name: str) -> int:
    """The number of the place of a whole register."""
    field = field_of(architecture, name)
    assert field is not None
    return places.index(field.name)


def _parts(
    title: str, places: Sequence[str], architecture: Architecture, names: Iterable[str]
) -> Iterator[str]:
    """An array of `struct part`, without those that a signal's context does not show."""
    yield f"static const struct part {title}[] __attribute__((unused)) = {{"
    for name in names:
        field = field_of(architecture, name)
        if field is not None and field.name in places and field.mask <= _WORD:
            place = places.index(field.name)
            yield f'\t{{ "{name}", {place}, {field.shift}, 0x{field.mask:x}UL }},'
    yield "\t{ 0, 0, 0, 0 },\n};"
