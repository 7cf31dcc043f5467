"""From what the real bytes did to a counterexample that says it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verify.counterexample import Counterexample, RegisterValue
from verify.evidence.calls import block_words
from verify.evidence.lines import source_line
from verify.properties.secrecy import last_writer
from verify.prove.deviation import Call, Deviation, first_deviation
from verify.qemu import available
from verify.witness import Breach

if TYPE_CHECKING:
    from verify.prove.segments import Segment, Segments
    from verify.refute import Refutation
    from verify.solve import Decided
    from verify.target import Target


def counterexample_of(
    target: Target,
    segments: Segments | None,
    refutation: Refutation,
    decided: Sequence[Decided],
) -> Counterexample:
    """The counterexample that a refutation is, `decided` being the obligations of its property."""
    breach = refutation.breach
    inputs, other = breach.inputs, breach.other
    found = _deviation(segments, breach)
    address = breach.instruction if found is None else found.instruction
    if address is None:
        failing = [d for d in decided if d.candidate and d.obligation.instructions]
        address = failing[0].obligation.instructions[-1] if failing else None
    if address is None and segments is not None:
        address = _last_writer(segments, breach)
    text = ""
    if address is not None and segments is not None:
        size = target.architecture.instruction_bytes
        text = dict(segments.engine.disassemble(address, size)).get(address, "")
    expected, actual = block_words(target, inputs, breach.block)
    return Counterexample(
        inputs.key,
        inputs.counter,
        inputs.nblocks,
        inputs.in_place,
        breach.what,
        breach.expected,
        breach.actual,
        address,
        text,
        available(target.architecture.name) or "",
        breach.kind,
        inputs.seed,
        _values(inputs.registers),
        other.key if other is not None and other.key != inputs.key else (),
        _values(other.registers if other is not None else {}),
        refutation.observation,
        breach.block,
        expected,
        actual,
        refutation.notes,
        None if found is None else found.departure,
        "" if address is None else source_line(target, address),
    )


def _last_writer(segments: Segments, breach: Breach) -> int | None:
    """The instruction that wrote a wrong counter, or a register that is not restored, last; None
    where none does, or the breach is another one."""
    registers = {register.name: register for register in segments.target.architecture.registers}
    every: list[Segment] = [*segments.exits, *segments]
    for segment in every:
        if breach.property == "counter":
            for access in reversed(segment.accesses):
                if access.kind == "write" and access.place and access.place.region == "counter":
                    return access.instruction
        if breach.property == "abi" and breach.kind in registers:
            writer = last_writer(segments, segment, registers[breach.kind])
            if writer is not None:
                return writer
    return None


def _deviation(segments: Segments | None, breach: Breach) -> Deviation | None:
    if segments is None or breach.word is None or breach.block is None:
        return None
    inputs = breach.inputs
    call = Call(inputs.key, inputs.counter, inputs.nblocks)
    return first_deviation(segments, call, breach.block, breach.word)


def _values(registers: Mapping[str, int]) -> tuple[RegisterValue, ...]:
    return tuple(RegisterValue(name, value) for name, value in registers.items())
