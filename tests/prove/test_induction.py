"""What is proved to hold at the head of the block loop: found in every style, and true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proving import PROGRAMS, segments_of_program
from verify import qemu
from verify.arch import ON_STACK
from verify.decide import Answer, valid
from verify.lift.angr_import import import_angr
from verify.terms import Linear, Term, const, evaluate, extract, unsigned_less, var, variables
from verify.witness import Inputs
from verify.witness.execution import Execution, begin, load_offset, run_on
from verify.witness.placement import STACK
from verify.witness.registers import observed

import_angr()

from verify.arch import Saved  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.properties.abi import entry_value  # noqa: E402
from verify.prove.cfg import control_flow  # noqa: E402
from verify.prove.induction import Loop, close_loop  # noqa: E402
from verify.prove.invariants import Invariant, Templates  # noqa: E402
from verify.prove.segments import Segments  # noqa: E402
from verify.prove.setting import Variables, entry_machine, register_value  # noqa: E402

DST = "(bvadd dst (bvmul index 0x40:64))"
LEFT = "(bvadd nblocks (bvmul index 0xffffffffffffffff:64))"
LOW, HIGH = "(extract(31, 0) block_count)", "(extract(63, 32) block_count)"

# Program: what holds of registers by the lifter's name, and of counter words in memory by offset.
KNOWN: dict[str, dict[str | int, str]] = {
    "loongarch64/looped.so": {"a0": DST, "a1": "block_count", "a3": LEFT},
    "loongarch64/unrolled.so": {"a0": DST, 0: LOW, 4: HIGH},
    "powerpc64le/looped.so": {"gpr3": DST, "gpr7": "block_count", "gpr6": LEFT},
    "powerpc64le/unrolled.so": {
        "gpr3": DST,
        "gpr7": f"(concat loop_register_72_8_32 {LOW})",
        "gpr8": f"(concat loop_register_80_8_32 {HIGH})",
    },
    "s390x/looped.so": {"r1": "block_count", "r2": DST, "r5": LEFT},
}
# The counter wraps in its low word, and as a whole.
CALLS = [
    Inputs(tuple(range(0x11111111, 0x99999999, 0x11111111)), counter, 4, seed=seed)
    for seed, counter in enumerate((7, 2**32 - 2, 2**64 - 2))
]


def at_head(name: str) -> bool:
    """Whether the head of a program's block loop is reached once more than there are blocks."""
    return Path(name).stem in {"unrolled", "reversing", "lsx_unrolled"}


def loop_of(segments: Segments) -> Loop:
    assert segments.loop is not None
    return segments.loop


def place_of(segments: Segments, invariant: Invariant) -> str | int:
    location = invariant.location
    if location.space != "register":
        assert location.space == "counter"
        return location.offset
    names: set[str] = {
        name
        for name, place in segments.engine.layout.registers.items()
        if place == (location.offset, location.size)
    }
    return names.pop()


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_at_the_head(name: str) -> None:
    segments = segments_of_program(name)
    known = {
        place_of(segments, invariant): repr(invariant.value)
        for invariant in loop_of(segments).invariants
        if invariant.kind != "unknown"
    }
    assert known == KNOWN[name]


def test_what_is_the_same_at_both_arrivals_stays_known() -> None:
    """Of the last row's first words, the counter's are those of the block before."""
    segments = segments_of_program("s390x/looped.so")
    values = {place_of(segments, one): one.value for one in loop_of(segments).invariants}
    assert extract(values["v6"], 63, 0) is const(0, 64)
    assert all(v.name.startswith("loop_") for v in variables([values["v6"]]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_induction_is_proved(name: str) -> None:
    segments = segments_of_program(name)
    loop = loop_of(segments)
    assert loop.head == segments.flow.loops[0].head
    assert {o.id.split("/")[1].rstrip("0123456789") for o in segments.induction} == {
        "bound",
        "base",
        "step",
    }
    assert [o.id for o in segments.induction][:2] == [
        "induction/bound/base",
        "induction/bound/step0",
    ]
    for obligation in segments.induction:
        decision = valid(obligation.assumptions, obligation.formula)
        assert decision.answer is Answer.UNSAT, obligation.claim
        assert obligation.instructions == (loop.head,)
    kinds = {path.end for path in loop.body.paths}
    assert kinds == {"cut", "exit"}
    names = segments.names
    strict = unsigned_less(names.index, names.nblocks) in loop.assumptions
    assert strict != at_head(name)


def assignment(segments: Segments, execution: Execution, done: int) -> dict[Term, int]:
    """The variables whose values an execution tells when `done` blocks are done."""
    names, inputs = segments.names, execution.inputs
    architecture = segments.target.architecture
    addresses = execution.placement.addresses
    values = dict(zip(names.key, inputs.key, strict=True))
    values |= {
        names.count: inputs.counter,
        names.block_count: (inputs.counter + done) % 2**64,
        names.nblocks: inputs.nblocks,
        names.index: done,
        names.address("sp"): addresses[STACK],
        names.address("ra"): qemu.MACHINES[architecture.name].space.returned,
    }
    values |= {names.address(region): addresses[region] for region in ("dst", "key", "counter")}
    for register in observed(architecture, *Saved):
        if register.name in (architecture.stack_pointer, ON_STACK):
            continue
        value = entry_value(segments, register.name)
        if value.op == "var":
            values.setdefault(value, execution.initial_register(register.name))
    return values


def arrivals(segments: Segments, inputs: Inputs) -> Iterator[Execution]:
    """The state at each arrival at the head of the loop.

    The head may be a branch, so the way from one arrival to the next leads over the first store.
    """
    target, head = segments.target, loop_of(segments).head
    (pass_through,) = (one for one in segments if one.begin == one.end == "loop")
    stores = (a for a in pass_through.accesses if a.place and a.place.region == "dst")
    store = next(stores).instruction
    (here,) = run_on([begin(target, inputs)], target.function.address, head)
    while here.trapped:
        yield here
        (here,) = run_on([here], head, store)
        if here.trapped:
            (here,) = run_on([here], store, head)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("inputs", CALLS, ids=lambda inputs: f"{inputs.counter:#x}")
def test_what_is_known_is_what_qemu_computes(name: str, inputs: Inputs) -> None:
    segments = segments_of_program(name)
    loop = loop_of(segments)
    architecture = segments.target.architecture
    passes = 0
    for done, execution in enumerate(arrivals(segments, inputs)):
        passes += 1
        values = assignment(segments, execution, done)
        assert all(evaluate([fact], values)[fact] for fact in loop.assumptions)
        compared = set()
        for register in observed(architecture, *Saved):
            if register.storage not in segments.engine.layout.registers:
                continue
            value = register_value(loop.start, segments.engine, architecture, register.name)
            if variables([value]) <= set(values):
                expected = evaluate([value], values)[value]
                # A constant may be an address in the image, which is elsewhere under QEMU.
                moved = load_offset(segments.target) if value.value is not None else 0
                assert execution.register(register.name) in {expected, expected + moved}
                compared.add(register.name)
        assert len(compared) > 10
        assert set(architecture.arguments[:1]) <= compared
        cells = loop.start.memory.region("counter", Linear(architecture.bits, 0))
        for offset, size, content in cells:
            value = loop.start.converter.term(content)
            expected = evaluate([value], values)[value]
            stored = execution.memory("counter", offset, size)
            assert int.from_bytes(stored, architecture.byte_order) == expected
    assert passes == inputs.nblocks + at_head(name)


def test_a_wrong_guess_is_weakened_and_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the guess says of a register, only what is proved stays."""
    name = "powerpc64le/looped.so"
    target = segments_of_program(name).target
    guessed = Templates.__iter__

    def lies(self: Templates) -> Iterator[Invariant]:
        for invariant in guessed(self):
            if invariant.kind == "unknown":
                wrong = var("dst", 64) if invariant.location.size == 8 else invariant.value
                yield replace(invariant, value=wrong, kind="constant")
            else:
                yield invariant

    monkeypatch.setattr(Templates, "__iter__", lies)
    engine = engine_for(target.architecture, target.code)
    names = Variables(target.architecture.bits)
    contract = names.contract(target.architecture.return_alignment)
    flow = control_flow(engine, target.function.address)
    machine = entry_machine(target, engine, names)
    _, loop, obligations = close_loop(engine, flow, machine, names, contract)
    assert loop is not None
    honest = {
        invariant.location: invariant.value
        for invariant in loop_of(segments_of_program(name)).invariants
    }
    assert {invariant.location: invariant.value for invariant in loop.invariants} == honest
    assert all(valid(o.assumptions, o.formula).answer is Answer.UNSAT for o in obligations)
