"""`abi`: the function keeps the promises of the C calling convention.

At return the stack pointer and every callee-saved register (or the part of one that the ABI
preserves) hold what they held at entry; control goes to the return address; a reserved register
is never written, not even for a moment. A signal handler at any instruction leaves alone what the
function and its caller have on the stack.
"""

from __future__ import annotations

from verify.arch import Architecture, Register, Saved
from verify.properties.model import Property, Stated, unknown_memory
from verify.prove.obligation import Obligation, RegisterWriteProbe
from verify.prove.segments import Segment, Segments
from verify.prove.setting import register_value
from verify.prove.stack import unprotected
from verify.terms import FALSE, TRUE, Term, add, const, equal, extract, linear, var


def entry_value(segments: Segments, name: str) -> Term:
    """What a register, or its part that the ABI names, held at entry."""
    architecture = segments.target.architecture
    if name == architecture.stack_pointer:
        return segments.names.address("sp")
    register = architecture.register(name)
    offset, size = segments.engine.layout.registers[register.storage]
    storage, start, whole = segments.engine.layout.enclosing(offset, size)
    value = var(f"init_{storage}", 8 * whole)
    if whole != size:
        first = offset - start if segments.engine.layout.little else start + whole - offset - size
        value = extract(value, 8 * (first + size) - 1, 8 * first)
    return extract(value, *register.bits) if register.bits else value


def _restored(segments: Segments, number: int, segment: Segment) -> list[Obligation]:
    architecture = segments.target.architecture
    return [
        Obligation(
            f"abi/{register.name}/exit{number}",
            f"at return {register.name} {_kept(architecture, register)}",
            segment.assumptions,
            equal(
                register_value(segment.machine, segments.engine, architecture, register.name),
                _value_at_return(segments, register.name),
            ),
            writers(segments, segment, register.storage),
        )
        for register in architecture.with_saved(Saved.CALLEE)
    ]


def _value_at_return(segments: Segments, name: str) -> Term:
    """What a preserved register has to hold at return."""
    architecture = segments.target.architecture
    value = entry_value(segments, name)
    if name == architecture.stack_pointer:
        value = add(value, const(architecture.popped_at_return, value.width))
    return linear(value).term()


def _kept(architecture: Architecture, register: Register) -> str:
    popped = architecture.popped_at_return
    if popped and register.name == architecture.stack_pointer:
        return f"is {popped} more than at entry: the return address is popped"
    return "holds what it held at entry"


def writers(segments: Segments, segment: Segment, storage: str) -> tuple[int, ...]:
    """The instructions that write a part of a register."""
    offset, size = segments.engine.layout.registers[storage]
    return tuple(
        dict.fromkeys(
            write.instruction
            for write in segment.machine.register_writes
            if write.offset < offset + size and offset < write.offset + write.value.width // 8
        )
    )


def _returns(segments: Segments, number: int, segment: Segment) -> Obligation:
    return Obligation(
        f"abi/return/exit{number}",
        "control goes to the return address",
        segment.assumptions,
        equal(segment.path.target, segments.names.address("ra")),
        (segment.machine.instruction,),
    )


def _reserved(segments: Segments) -> list[Obligation]:
    found = []
    for register in segments.target.architecture.with_saved(Saved.RESERVED):
        written = [
            address
            for segment in segments
            for address in writers(segments, segment, register.storage)
        ]
        found.append(
            Obligation(
                f"abi/{register.name}/never-written",
                f"the reserved register {register.name} is never written",
                (),
                FALSE if written else TRUE,
                tuple(dict.fromkeys(written)),
                probes=(RegisterWriteProbe(tuple(dict.fromkeys(written)), register.name),),
            )
        )
    return found


def _returning(segments: Segments, segment: Segment, register: Register) -> set[int]:
    """The instruction that takes the return address from the stack, if it is all that it does."""
    architecture = segments.target.architecture
    pops = architecture.popped_at_return and register.name == architecture.stack_pointer
    return {segment.machine.instruction} if pops and segment.end == "exit" else set()


def changed_and_restored(segments: Segments) -> str:
    """The callee-saved registers that hold something else for a while, as a signal handler sees."""
    changed = [
        register.name
        for register in segments.target.architecture.with_saved(Saved.CALLEE)
        if any(
            set(writers(segments, segment, register.storage))
            - _returning(segments, segment, register)
            for segment in segments
        )
    ]
    return f"changes and restores {', '.join(changed)}" if changed else ""


def state(segments: Segments) -> Stated:
    """One obligation per preserved register and exit, per exit, and per reserved register."""
    found = _reserved(segments)
    for number, segment in enumerate(segments.exits):
        found += [_returns(segments, number, segment), *_restored(segments, number, segment)]
    none = () if segments.exits else ("no path of the function returns",)
    finding = changed_and_restored(segments)
    findings = (finding,) if finding else ()
    undecided = (*unknown_memory(segments), *unprotected(segments), *none)
    return Stated(tuple(found), undecided, findings)


ABI = Property("abi", "preserved registers, reserved registers and the return address", state)
