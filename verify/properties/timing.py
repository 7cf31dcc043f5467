"""`timing`: how long the function runs does not depend on a secret.

No branch condition and no address of a load or store depends on a secret, and no multiplication
or division has an operand that does. Rotates and shifts by a register take the same time for every
operand on the architectures known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.properties.model import Property, Stated, distinct, unknown_memory
from verify.prove.obligation import KeyProbe, Obligation, Probe
from verify.prove.secrets import independent, secret_variables, secrets_in
from verify.prove.segments import Segment, Segments
from verify.terms import Term


def _decisive(segment: Segment) -> Iterator[tuple[str, int, Term, tuple[Probe, ...]]]:
    """(what, instruction, value, probes) of all that time depends on."""
    guards = zip(segment.machine.branches, segment.path.guards, strict=True)
    for instruction, guard in guards:
        yield "branch condition", instruction, guard, (KeyProbe(instruction),)
    for access in segment.accesses:
        probe = KeyProbe(access.instruction)
        yield f"address of the {access.kind}", access.instruction, access.address, (probe,)
    for operand in segment.machine.slow_operands:
        probe = KeyProbe(operand.instruction)
        yield "operand", operand.instruction, operand.value, (probe,)


def state(segments: Segments) -> Stated:
    """One obligation per instruction that branches, accesses memory, multiplies or divides."""
    secret = secret_variables(segments)
    found: list[Obligation] = []
    for segment in segments:
        for what, instruction, value, probes in _decisive(segment):
            formula = independent(value, secrets_in([value], secret))
            found.append(
                Obligation(
                    f"timing/{instruction:#x}/{what.replace(' ', '-')}",
                    f"the {what} at {instruction:#x} does not depend on a secret",
                    segment.assumptions,
                    formula,
                    (instruction,),
                    probes=probes,
                )
            )
    return Stated(distinct(found), unknown_memory(segments))


TIMING = Property("timing", "no branch and no address depends on a secret", state)
