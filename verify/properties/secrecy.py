"""`secrecy`: no secret is left behind, except in dst.

At return every register that the ABI does not preserve is clean, no byte below the entry stack
pointer holds a secret, and none has held one at any moment; no secret is written to other memory.
A value is clean if it does not depend on a secret: not even a few bits of it.
"""

from __future__ import annotations

from verify.arch import Register, Saved
from verify.lift.machine import UNDEFINED
from verify.lift.memory import STACK, Access
from verify.properties.abi import entry_value
from verify.properties.model import Property, Stated, distinct, unknown_memory
from verify.properties.stack import describe
from verify.prove.invariants import FRESH
from verify.prove.leak import leak
from verify.prove.obligation import Obligation, RegisterProbe, StackWriteProbe
from verify.prove.secrets import independent, secret_variables, secrets_in
from verify.prove.segments import Segment, Segments
from verify.prove.setting import register_value
from verify.terms import Term, variables
from verify.verdict import Residue


def _judged_registers(segments: Segments) -> tuple[Register, ...]:
    """The registers that may hold something of the function's own at return."""
    return segments.target.architecture.with_saved(Saved.CALLER)


def _value(segments: Segments, segment: Segment, register: Register) -> Term:
    architecture = segments.target.architecture
    return register_value(segment.machine, segments.engine, architecture, register.name)


def last_writer(segments: Segments, segment: Segment, register: Register) -> int | None:
    """The instruction that last wrote a register on a segment; None if none did."""
    offset, size = segments.engine.layout.registers[register.storage]
    for write in reversed(segment.machine.register_writes):
        if write.offset < offset + size and offset < write.offset + write.value.width // 8:
            return write.instruction
    return None


def _clean(
    segment: Segment, value: Term, secret: frozenset[Term], where: str, claim: str
) -> Obligation:
    return Obligation(
        f"secrecy/{where}",
        claim,
        segment.assumptions,
        independent(value, secrets_in([value], secret)),
    )


def _registers(
    segments: Segments, number: int, segment: Segment, secret: frozenset[Term]
) -> list[Obligation]:
    found = []
    for register in _judged_registers(segments):
        value = _value(segments, segment, register)
        writer = last_writer(segments, segment, register)
        found.append(
            Obligation(
                f"secrecy/register/{register.name}/exit{number}",
                f"at return {register.name} does not depend on a secret",
                segment.assumptions,
                independent(value, secrets_in([value], secret)),
                () if writer is None else (writer,),
                probes=(RegisterProbe(register.name),),
            )
        )
    return found


def _stack_at_return(number: int, segment: Segment, secret: frozenset[Term]) -> list[Obligation]:
    machine = segment.machine
    return [
        _clean(
            segment,
            machine.converter.term(value),
            secret,
            f"stack/{offset}/exit{number}",
            f"at return the {size} bytes at sp{offset:+d} do not depend on a secret",
        )
        for (region, _), cells in machine.memory.cells().items()
        if region == STACK
        for offset, size, value in cells
    ]


def _written(segment: Segment, access: Access, secret: frozenset[Term]) -> Obligation:
    """A write outside dst never holds a secret, not even for a moment."""
    assert access.place is not None
    region, offset = access.place.region, access.place.offset
    probes = (StackWriteProbe(access.instruction, offset, access.size),) if region == STACK else ()
    return Obligation(
        f"secrecy/moment/{access.instruction:#x}/{region}{offset:+d}",
        f"the store at {access.instruction:#x} to {region}{offset:+d} writes no secret",
        segment.assumptions,
        independent(access.value, secrets_in([access.value], secret)),
        (access.instruction,),
        probes=probes,
    )


def state(segments: Segments) -> Stated:
    """One obligation per register, stack slot and store, see the module."""
    secret = secret_variables(segments)
    found: list[Obligation] = []
    findings: dict[str, None] = {}
    for segment in segments:
        for access in segment.accesses:
            if access.kind == "write" and access.place and access.place.region != "dst":
                found.append(_written(segment, access, secret))
                if secrets_in([access.value], secret):
                    what = leak(segments, segment, access.value).text
                    where = f"{access.place.region}{access.place.offset:+d}"
                    findings[f"{access.instruction:#x} writes to {where}: {what}"] = None
    ended: list[Obligation] = []
    for number, segment in enumerate(segments.exits):
        ended += _stack_at_return(number, segment, secret)
        ended += _registers(segments, number, segment, secret)
    return Stated(distinct([*found, *ended]), unknown_memory(segments), tuple(findings))


def residues(segments: Segments) -> tuple[Residue, ...]:
    """What each register that the ABI does not preserve holds at return."""
    secret = secret_variables(segments)
    rows: dict[Residue, None] = {}
    for segment in segments.exits:
        for register in _judged_registers(segments):
            rows[_residue(segments, segment, register, secret)] = None
    return tuple(rows)


def _residue(
    segments: Segments, segment: Segment, register: Register, secret: frozenset[Term]
) -> Residue:
    value = _value(segments, segment, register)
    if value.op == "var" and value.name.startswith(FRESH):
        # Left over from the pass before, which is the one that says what it is.
        passes = (other for other in segments if other.begin == other.end == "loop")
        segment = next(passes, segment)
        value = _value(segments, segment, register)
    writer = last_writer(segments, segment, register)
    dirty = secrets_in([value], secret)
    if dirty:
        holds, kind = _dependence(segments, dirty), "key-dependent"
        return Residue(register.name, holds, kind, writer, leak(segments, segment, value).text)
    return Residue(register.name, *_clean_value(segments, register.name, value, secret), writer)


def _dependence(segments: Segments, dirty: list[Term]) -> str:
    words = [n for n, word in enumerate(segments.names.key) if word in dirty]
    if len(words) == len(segments.names.key):
        return "depends on the whole key"
    if words:
        return f"depends on key word{'s' if len(words) > 1 else ''} {', '.join(map(str, words))}"
    return f"depends on {', '.join(v.name for v in dirty)}"


def _clean_value(
    segments: Segments, name: str, value: Term, secret: frozenset[Term]
) -> tuple[str, str]:
    """(what a register holds in words, its kind) when it does not depend on a secret."""
    if value is entry_value(segments, name):
        return "what it held at entry", "unchanged"
    if value.value == 0:
        return "zero", "zero"
    holds, kind = describe(segments, value, secret)
    if kind in ("unknown", "callee-saved", "public"):
        origins = {_origin(v.name) for v in variables([value])}
        return f"computed from {', '.join(sorted(origins)) or 'constants'}", "public"
    return holds, kind


def _origin(name: str) -> str:
    """What a variable stands for, in words."""
    if name.startswith(FRESH):
        return "an earlier pass"
    if name.startswith("init_"):
        return f"{name.removeprefix('init_').replace('_', '.')} at entry"
    if name.startswith(UNDEFINED):
        return "what the manual leaves undefined"
    return _ORIGIN.get(name, name)


_ORIGIN = {"count": "counter", "block_count": "counter", "index": "nblocks"}


SECRECY = Property("secrecy", "no secret is left in a register, on the stack or elsewhere", state)
