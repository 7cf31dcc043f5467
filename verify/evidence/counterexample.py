"""From what the real bytes did to a counterexample that says it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verify.evidence.calls import block_words
from verify.evidence.lines import source_line
from verify.prove.deviation import Call, Deviation, first_deviation
from verify.qemu import available
from verify.verdict import Counterexample, RegisterValue
from verify.witness import Breach

if TYPE_CHECKING:
    from verify.prove.segments import Segments
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


def _deviation(segments: Segments | None, breach: Breach) -> Deviation | None:
    if segments is None or breach.word is None or breach.block is None:
        return None
    inputs = breach.inputs
    call = Call(inputs.key, inputs.counter, inputs.nblocks)
    return first_deviation(segments, call, breach.block, breach.word)


def _values(registers: Mapping[str, int]) -> tuple[RegisterValue, ...]:
    return tuple(RegisterValue(name, value) for name, value in registers.items())
