"""The bytes run from a known state, and what they break is told apart."""

from __future__ import annotations

import dataclasses
import time

import pytest

from specs import chacha20
from tests.proving import BINARIES
from tests.witness.programs import ENTRY, MACHINES, Machine, built
from verify import qemu
from verify.arch import ARCHITECTURES, by_name
from verify.qemu import emulator
from verify.target import CodeSegment
from verify.witness import (
    Breach,
    Inputs,
    breaches,
    execute,
    other_key,
    search,
    stopped_after,
    stopped_before,
    unobserved,
)
from verify.witness.execution import PATIENT_SECONDS

INPUTS = Inputs(key=tuple(0x11121314 + 0x20202020 * n for n in range(8)), counter=7, nblocks=1)

per_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def shown(machine: Machine, *code: int, inputs: Inputs = INPUTS) -> dict[str, Breach]:
    """The breaches of a program, and of nothing but it: what returning at once breaks is left out.

    A program that returns at once computes neither output nor counter.
    """
    one, two = execute(machine.program(*code), [inputs, other_key(inputs)])
    return {
        breach.property: breach
        for breach in breaches(one, two)
        if breach.property not in {"output", "counter"}
    }


class TestBreaches:
    @per_machine
    def test_output_and_counter(self, machine: Machine) -> None:
        (execution,) = execute(machine.program(machine.back), [INPUTS])
        output, counter = breaches(execution)
        word = chacha20.block(chacha20.INTS, INPUTS.key, 7, 0)[0]
        was = int.from_bytes(execution.initial_memory("dst", 0, 4), "little")
        assert output == Breach(
            "output",
            "a word of the output",
            "word 0 of block 0 is wrong",
            f"{word:#010x}",
            f"{was:#010x}",
            INPUTS,
            block=0,
            word=0,
        )
        assert counter == Breach(
            "counter",
            "the counter",
            "the counter after 1 block is wrong",
            "0x0000000000000008",
            "0x0000000000000007",
            INPUTS,
        )

    @per_machine
    def test_every_register_is_as_at_entry(self, machine: Machine) -> None:
        target = machine.program(machine.back)
        executions = execute(target, [dataclasses.replace(INPUTS, seed=n) for n in range(20)])
        names = [r.name for r in target.architecture.registers]
        hidden = {r.name for r in unobserved(target.architecture)} | {"vscr"}
        seen = [name for name in names if name not in hidden]
        changing = set()
        for one in executions:
            assert all(one.register(name) == one.initial_register(name) for name in seen)
            changing |= {n for n in seen if one.register(n) != executions[0].register(n)}
        fixed = {target.architecture.return_address, "zero", "fcsr"}
        nblocks = target.architecture.arguments[3]
        assert changing == set(seen) - fixed - {nblocks}

    @per_machine
    def test_reserved_and_saved_register_and_stack_pointer(self, machine: Machine) -> None:
        for name, said in (
            ("reserved", "the reserved register {} is changed"),
            ("saved", "the callee-saved register {} is not restored"),
            ("sp", "the stack pointer {} is not restored"),
        ):
            found = shown(machine, machine.add(name, name, 16), machine.back)
            number = machine.registers[name]
            loongarch = {21: "r21", 23: "s0", 3: "sp"}
            real = f"r{number}" if machine.name == "powerpc64le" else loongarch[number]
            assert list(found) == ["abi"]
            assert found["abi"].what == said.format(real)
            assert int(found["abi"].actual, 16) == (int(found["abi"].expected, 16) + 16) % 2**64

    @pytest.mark.parametrize(
        ("instruction", "broken"),
        [
            # crset: all bits but those of cr2 to cr4, and the first and last bit of cr3
            *((0x4C000242 | bit << 21 | bit << 16 | bit << 11, None) for bit in (0, 7, 20, 31)),
            (0x4C000242 | 12 << 21 | 12 << 16 | 12 << 11, "cr3"),
            (0x4C000242 | 15 << 21 | 15 << 16 | 15 << 11, "cr3.so"),
            # xxlxor vs13 and vs14, vs51 and vs52
            (0xF00004D0 | 13 << 21 | 13 << 16 | 13 << 11, None),
            (0xF00004D0 | 14 << 21 | 14 << 16 | 14 << 11, "f14"),
            (0xF00004D7 | 19 << 21 | 19 << 16 | 19 << 11, None),
            (0xF00004D7 | 20 << 21 | 20 << 16 | 20 << 11, "v20"),
        ],
    )
    def test_parts_of_registers(self, instruction: int, broken: str | None) -> None:
        machine = MACHINES["powerpc64le"]
        target = machine.program(instruction, machine.back)
        executions = execute(target, [dataclasses.replace(INPUTS, seed=n) for n in range(8)])
        found = {b.what for one in executions for b in breaches(one) if b.property == "abi"}
        said = f"the callee-saved register {broken} is not restored"
        assert found == (set() if broken is None else {said})

    @per_machine
    @pytest.mark.parametrize(
        ("base", "offset", "said"),
        [
            ("dst", 64, "changes 4 bytes at dst + 64"),
            ("dst", -4, "changes 4 bytes at dst - 4"),
            ("key", 8, "changes 4 bytes at key + 8"),
            ("key", 32, "changes 4 bytes at key + 32"),
            ("counter", 8, "changes 4 bytes at counter + 8"),
            ("counter", 4, None),
            ("dst", 60, None),
            ("sp", 0, "changes 4 bytes at sp + 0"),
            ("sp", 24, "changes 4 bytes at sp + 24"),
            ("sp", -4, None),
            ("nblocks", 3, "accesses address 0x4"),
        ],
    )
    def test_footprint(self, machine: Machine, base: str, offset: int, said: str | None) -> None:
        code = (machine.zero("free"), machine.store("free", base, offset), machine.back)
        found = shown(machine, *code)
        if said is None:
            assert found == {}
        else:
            assert list(found) == (["footprint", "stack"] if base == "sp" else ["footprint"])
            assert {breach.what for breach in found.values()} == {said}
            assert (found["footprint"].instruction is None) == said.startswith("changes")

    @per_machine
    def test_slots_of_the_callee(self, machine: Machine) -> None:
        found = shown(machine, machine.store_double("saved", "sp", 16), machine.back)
        assert ("footprint" in found) == (machine.name == "loongarch64")

    @per_machine
    @pytest.mark.parametrize("offset", [8, 12])
    def test_key_left_on_the_stack(self, machine: Machine, offset: int) -> None:
        code = (
            machine.load("free", "key", 4),
            machine.add("sp", "sp", -16),
            machine.store("free", "sp", offset),
            machine.add("sp", "sp", 16),
            machine.back,
        )
        found = shown(machine, *code)
        assert list(found) == ["stack"]
        assert found["stack"].what == f"leaves key word 1 at sp - {16 - offset}"
        assert found["stack"].actual.startswith("34 33 32 31, with another key ")
        zero = dataclasses.replace(INPUTS, key=(0,) * 8)
        assert "key word 1" in shown(machine, *code, inputs=zero)["stack"].what

    @per_machine
    def test_key_left_in_a_slot_of_the_callee(self, machine: Machine) -> None:
        code = (machine.load("free", "key", 0), machine.store("free", "sp", 16), machine.back)
        found = shown(machine, *code)
        if machine.name == "powerpc64le":
            assert {name: breach.what for name, breach in found.items()} == {
                "stack": "leaves key word 0 at sp + 16"
            }
        else:
            assert list(found) == ["footprint", "stack"]

    @per_machine
    def test_order(self, machine: Machine) -> None:
        target = machine.program(
            machine.zero("saved"),
            machine.store("saved", "key", 0),
            machine.back,
        )
        (execution,) = execute(target, [INPUTS])
        assert [b.property for b in breaches(execution)] == [
            "output",
            "counter",
            "footprint",
            "abi",
        ]


class TestEnd:
    @per_machine
    def test_trap(self, machine: Machine) -> None:
        found = shown(machine, machine.trap, machine.back)
        assert list(found) == ["abi"]
        assert found["abi"].actual == "stopped by SIGTRAP at 0x400"
        assert found["abi"].instruction == ENTRY

    @per_machine
    @pytest.mark.parametrize("register", ["dst", "nblocks"])
    def test_goes_elsewhere(self, machine: Machine, register: str) -> None:
        inputs = dataclasses.replace(INPUTS, nblocks=4)
        (execution,) = execute(machine.program(*machine.go_to(register)), [inputs])
        (breach,) = breaches(execution)
        assert (breach.property, breach.what) == ("abi", "does not return to its caller")
        where = 4 if register == "nblocks" else execution.placement.addresses["dst"] & ~3
        assert breach.actual == f"goes to {where:#x}, where the image has no code"
        assert breach.instruction is None

    @per_machine
    def test_runs_past_its_end(self, machine: Machine) -> None:
        (execution,) = execute(machine.program(machine.zero("free")), [INPUTS])
        (breach,) = breaches(execution)
        assert breach.property == "abi"
        assert breach.actual.endswith(", where the image has no code")

    @per_machine
    def test_endless_loop_takes_the_time_of_one(self, machine: Machine) -> None:
        inputs = [dataclasses.replace(INPUTS, seed=n) for n in range(8)]
        start = time.monotonic()
        first, *others = execute(machine.program(machine.branch(0)), inputs)
        assert time.monotonic() - start < 5
        (breach,) = breaches(first)
        assert (breach.property, breach.what) == ("termination", "does not return")
        assert breach.actual == "still running after 1 s, at 0x400"
        for one in others:
            assert one.inconclusive == "it did not return within 0.1 s"
            assert breaches(one) == ()

    @per_machine
    def test_slow_is_not_endless(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("verify.witness.execution.SECONDS", 0.001)
        loop = (machine.add("free", "free", -1), *machine.branch_if_not_zero("free", -4))
        target = machine.program(*loop, machine.back)
        register = {"loongarch64": "t0", "powerpc64le": "r9"}[machine.name]
        inputs = dataclasses.replace(INPUTS, registers={register: 20_000_000})
        executions = execute(target, [inputs, inputs])
        assert [one.returned for one in executions] == [True, True]
        assert {one.seconds for one in executions} == {PATIENT_SECONDS}

    @per_machine
    def test_instruction_that_qemu_does_not_know(self, machine: Machine) -> None:
        target = machine.program(0, machine.back)
        (execution,) = execute(target, [INPUTS])
        assert breaches(execution) == ()
        assert " does not know the instruction at 0x400" in execution.inconclusive
        with pytest.raises(qemu.QemuError, match="does not know the instruction at 0x400"):
            search(target)

    def test_an_emulator_that_is_too_old(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(emulator, "BESIDE_PYTHON", "/nowhere")
        if not qemu.lacking("loongarch64"):
            pytest.skip("no QEMU before 8.2 is on PATH")
        (execution,) = execute(built(BINARIES / "loongarch64" / "lsx.so"), [INPUTS])
        assert not execution.returned and breaches(execution) == ()
        assert execution.inconclusive.endswith(qemu.lacking("loongarch64"))

    @per_machine
    def test_more_stack_than_is_mapped(self, machine: Machine) -> None:
        down = [machine.add("sp", "sp", -2048)] * 40
        target = machine.program(*down, machine.store("free", "sp", 0), machine.back)
        (execution,) = execute(target, [INPUTS])
        assert breaches(execution) == ()
        assert execution.inconclusive.startswith("the instruction at 0x4a0 needs more")


class TestStops:
    @per_machine
    def test_next_instruction_is_reached_first(self, machine: Machine) -> None:
        wanted = ENTRY + 12
        target = machine.program(
            machine.zero("other"),
            machine.add("other", "other", 2),
            machine.branch(8),
            machine.store("nblocks", "dst", 0),
            machine.add("other", "other", -1),
            *machine.branch_if_not_zero("other", -8),
            machine.back,
        )
        before = stopped_before(target, INPUTS, wanted)
        after = stopped_after(target, INPUTS, wanted)
        assert before is not None
        assert after is not None
        assert (before.pc, after.pc) == (wanted, wanted + 4)
        assert before.memory("dst", 0, 4) == before.initial_memory("dst", 0, 4)
        assert after.memory("dst", 0, 4) == bytes((1, 0, 0, 0))

    @per_machine
    def test_passes(self, machine: Machine) -> None:
        register = {"loongarch64": "t1", "powerpc64le": "r10"}[machine.name]
        target = machine.program(
            machine.zero("other"),
            machine.add("other", "other", 3),
            machine.add("other", "other", -1),
            *machine.branch_if_not_zero("other", -4),
            machine.back,
        )
        for passes, (before, after) in enumerate([(3, 2), (2, 1), (1, 0)], 1):
            stops = [
                stop(target, INPUTS, ENTRY + 8, passes) for stop in (stopped_before, stopped_after)
            ]
            assert [one and one.register(register) for one in stops] == [before, after]
        assert stopped_before(target, INPUTS, ENTRY + 8, 4) is None
        assert stopped_after(target, INPUTS, ENTRY + 8, 4) is None

    @per_machine
    def test_last_instruction_and_fault(self, machine: Machine) -> None:
        target = machine.program(machine.store("free", "nblocks", 3), machine.back)
        assert stopped_before(target, INPUTS, ENTRY) is not None
        assert stopped_after(target, INPUTS, ENTRY) is None
        assert stopped_before(target, INPUTS, ENTRY + 4) is None

    @per_machine
    def test_first_instruction_only(self, machine: Machine) -> None:
        target = machine.program(machine.back, machine.back)
        stop = stopped_before(target, INPUTS, ENTRY)
        assert stop is not None
        assert stop.trapped
        assert stop.signal is None
        assert stop.end.memory == stop.start.memory
        assert stopped_before(target, INPUTS, ENTRY + 4) is None


class TestLoading:
    @per_machine
    @pytest.mark.parametrize("at", [0, ENTRY, 0x1_0000, 0x7654_3210])
    def test_image_anywhere(self, machine: Machine, at: int) -> None:
        target = machine.program(machine.trap, at=at)
        (execution,) = execute(target, [INPUTS])
        assert execution.pc == at

    @per_machine
    def test_all_segments_are_there_and_read_only(self, machine: Machine) -> None:
        # The stack pointer stands for the address of the second segment, 0x1000 behind the first.
        target = machine.program(machine.load("free", "other", 0), machine.back, at=0x10_0000)
        data = CodeSegment(0x10_1000, bytes((1, 2, 3, 4)), False)
        target = dataclasses.replace(target, segments=(*target.segments, data))
        name = {"loongarch64": ("t0", "t1"), "powerpc64le": ("r9", "r10")}[machine.name]
        inputs = dataclasses.replace(INPUTS, registers={name[1]: 0x10_1000})
        (execution,) = execute(target, [inputs])
        assert execution.returned
        assert execution.register(name[0]) == 0x04030201
        store = machine.program(machine.store("free", "other", 0), machine.back, at=0x10_0000)
        target = dataclasses.replace(target, segments=(*store.segments, data))
        (execution,) = execute(target, [inputs])
        assert [b.property for b in breaches(execution)] == ["footprint"]
        assert execution.fault_address == 0x10_1000


@pytest.mark.usefixtures("without_qemu")
@per_machine
def test_missing_emulator_names_the_command_that_installs_it(machine: Machine) -> None:
    target = machine.program(machine.back)
    for run in (
        lambda: execute(target, [INPUTS]),
        lambda: search(target),
        lambda: stopped_before(target, INPUTS, ENTRY),
    ):
        with pytest.raises(qemu.QemuError, match="sudo apt-get install qemu-user"):
            run()


WITHOUT_RUNNER: set[str] = set()


def test_architectures_that_can_be_executed() -> None:
    names = {architecture.name for architecture in ARCHITECTURES}
    assert names - WITHOUT_RUNNER == set(qemu.MACHINES)


@pytest.mark.parametrize("name", sorted(WITHOUT_RUNNER))
def test_without_a_runner(name: str) -> None:
    target = dataclasses.replace(
        MACHINES["loongarch64"].program(MACHINES["loongarch64"].back), architecture=by_name(name)
    )
    with pytest.raises(qemu.QemuError, match=f"no runner for architecture {name}"):
        execute(target, [INPUTS])


def test_what_is_not_observed() -> None:
    executed = [a for a in ARCHITECTURES if a.name not in WITHOUT_RUNNER]
    names = {a.name: [r.name for r in unobserved(a)] for a in executed}
    assert names == {
        "arm64": [],
        "arm64be": [],
        "loongarch64": [],
        "powerpc": ["vrsave"],
        "powerpc64": ["vrsave"],
        "powerpc64elfv2": ["vrsave"],
        "powerpc64le": ["vrsave"],
        "riscv64": [],
        "s390x": [],
        "x86_64": ["mxcsr.rc", "x87.tags", "x87.top", "x87.rc"],
    }


def test_no_inputs() -> None:
    target = MACHINES["loongarch64"].program(MACHINES["loongarch64"].back)
    assert execute(target, []) == []
    assert by_name("loongarch64") is target.architecture


def test_a_function_that_needs_more_stack_than_is_usual_is_given_more() -> None:
    machine = MACHINES["powerpc64le"]
    for depth in (0x1000, 0x7FF8):
        target = machine.program(machine.store_double("saved", "sp", -depth), machine.back)
        (done,) = execute(target, [INPUTS])
        assert done.returned
    far = 0x3C21FFFE  # addis r1, r1, -2: 128 KiB down
    target = machine.program(far, machine.store_double("saved", "sp", 0), machine.back)
    (done,) = execute(target, [INPUTS])
    assert done.short_of_stack and "more stack" in done.inconclusive
