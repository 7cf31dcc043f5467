"""`stack`: what the function writes relative to the stack pointer.

Every such write lies in the allocated frame, in the ABI's red zone or in the caller's linkage
area, and puts there a callee-saved register of the caller or a public value: never one that
depends on a secret. A stronger discipline is to write nothing there at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from specs.contract import ARGUMENTS
from verify.arch import Saved
from verify.lift.memory import STACK, Access
from verify.properties.abi import entry_value
from verify.properties.footprint import own_stack
from verify.properties.model import Property, Stated, distinct, unknown_memory
from verify.prove.invariants import FRESH
from verify.prove.obligation import Obligation, StackWriteProbe
from verify.prove.secrets import independent, secret_variables, secrets_in
from verify.prove.segments import Segment, Segments
from verify.prove.stack import stack_offsets
from verify.terms import FALSE, TRUE, Term, linear, variables
from verify.verdict import StackWrite

NO_WRITES = "no stack writes at all"
PUBLIC_ONLY = "only callee-saved registers and public values on the stack"

_POINTERS = (*ARGUMENTS[:-1], "sp", "ra")


@dataclass(frozen=True)
class Written:
    """A stack write with the segment it belongs to and the stack pointer at that moment."""

    segment: Segment
    access: Access
    pointer: int | None


def stack_writes(segments: Segments) -> list[Written]:
    """Every write relative to the stack pointer; those of unknown place are not among them."""
    found = []
    for segment in segments:
        pointer_at = stack_offsets(segments, segment)
        found += [
            Written(segment, access, pointer_at(access))
            for access in segment.accesses
            if access.kind == "write" and access.place and access.place.region == STACK
        ]
    return found


def not_public(segments: Segments, value: Term, secret: frozenset[Term]) -> list[Term]:
    """The variables in a value that may hold a secret, or what the caller left in registers and
    memory that are not its own to keep: by name."""
    saved = {v for name in _saved_names(segments) for v in variables([entry_value(segments, name)])}
    junk = [
        v
        for v in variables([value])
        if v not in saved and v.name.startswith(("init_", STACK, FRESH))
    ]
    return sorted({*secrets_in([value], secret), *junk}, key=lambda v: v.name)


def _saved_names(segments: Segments) -> list[str]:
    architecture = segments.target.architecture
    kept = (*architecture.with_saved(Saved.CALLEE), *architecture.with_saved(Saved.RESERVED))
    return [register.name for register in kept]


def describe(segments: Segments, value: Term, secret: frozenset[Term]) -> tuple[str, str]:
    """(what a written value is in words, its kind)."""
    architecture = segments.target.architecture
    for name in _saved_names(segments):
        if name != architecture.stack_pointer and value is entry_value(segments, name):
            return f"{name} of the caller", "callee-saved"
    if value.op == "var" and value.name in _POINTERS:
        titles = {"sp": "stack pointer", "ra": "return address"}
        return titles.get(value.name, f"pointer argument {value.name}"), "pointer"
    if value.value is not None:
        return f"constant {value.value:#x}", "constant"
    inside = {v.name for v in not_public(segments, value, secret)}
    if inside & {key.name for key in segments.names.key}:
        words = sorted(name for name in inside if name.startswith("k"))
        return f"depends on key words {', '.join(words)}", "secret"
    if any(name.startswith(FRESH) for name in inside):
        return "a value of the block before, not known to be public", "unknown"
    if inside:
        return f"depends on {', '.join(sorted(inside))}", "unknown"
    atoms = {atom.name for atom in linear(value).coefficients if atom.op == "var"}
    return f"computed from {', '.join(sorted(atoms)) or 'public values'}", "public"


def place_of(segments: Segments, written: Written) -> str:
    """`frame`, `red zone`, `linkage area` or `outside`."""
    place = written.access.place
    assert place is not None
    pointer = written.pointer
    if pointer is None or not place.index.is_constant:
        return "outside"
    if not own_stack(segments, pointer, place.offset, written.access.size):
        return "outside"
    if place.offset >= 0:
        return "linkage area"
    return "frame" if place.offset >= pointer else "red zone"


def table(segments: Segments) -> tuple[StackWrite, ...]:
    """Every stack write once per instruction, offset and value, in program order."""
    function = segments.target.function
    end = max(segments.flow.end, function.address + function.size)
    text = dict(segments.engine.disassemble(function.address, end - function.address))
    secret = secret_variables(segments)
    rows: dict[StackWrite, None] = {}
    for written in stack_writes(segments):
        access = written.access
        assert access.place is not None
        holds, kind = describe(segments, access.value, secret)
        rows[
            StackWrite(
                access.instruction,
                text.get(access.instruction, ""),
                access.place.offset,
                access.size,
                holds,
                kind,
                place_of(segments, written),
            )
        ] = None
    return tuple(rows)


def state(segments: Segments) -> Stated:
    """Two obligations per stack write: its place, and that its value is no secret."""
    found: list[Obligation] = []
    secret = secret_variables(segments)
    for written in stack_writes(segments):
        access = written.access
        assert access.place is not None
        where = f"{access.instruction:#x}/{access.place.offset}"
        inside = place_of(segments, written) != "outside"
        assumptions = written.segment.assumptions
        probe = StackWriteProbe(access.instruction, access.place.offset, access.size)
        found += [
            Obligation(
                f"stack/place/{where}",
                f"the store at {access.instruction:#x} to sp{access.place.offset:+d} lies in "
                "the frame or the red zone",
                assumptions,
                TRUE if inside else FALSE,
                (access.instruction,),
                probes=(probe,),
            ),
            Obligation(
                f"stack/public/{where}",
                f"the store at {access.instruction:#x} to sp{access.place.offset:+d} writes "
                "no secret",
                assumptions,
                independent(access.value, not_public(segments, access.value, secret)),
                (access.instruction,),
                probes=(probe,),
            ),
        ]
    none = Obligation(
        "stack/no-writes",
        "nothing is written relative to the stack pointer",
        segments.contract,
        TRUE,
    )
    return Stated(distinct(found or [none]), unknown_memory(segments))


def discipline(segments: Segments) -> str:
    """The stronger discipline that a function for which `stack` is proved meets."""
    return PUBLIC_ONLY if stack_writes(segments) else NO_WRITES


STACK_PROPERTY = Property("stack", "no secret is written relative to the stack pointer", state)
