"""QEMU runs code from exactly the given state and reports exactly the state at its end."""

from __future__ import annotations

import random
import signal
import time

import pytest

from verify import qemu
from verify.qemu import emulator
from verify.qemu.machines import WIDE

ARCHES = tuple(qemu.MACHINES)
SPACE = {name: machine.space for name, machine in qemu.MACHINES.items()}
CODE = 0x10_0000
DATA = 0x20_0000
BOUNDARY = {
    name: 1 << 24 if place.usable[1] < 1 << 32 else 1 << 32 for name, place in SPACE.items()
}
"""A number of as many bits as a page number or as half an address."""


ALWAYS_SET_FLAGS = 0x202
"""Of x86-64: bit 1, and interrupts are enabled."""


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def arm64(*values: int) -> dict[str, bytes]:
    """The same instructions, which are little-endian, for either byte order of data."""
    return dict.fromkeys(("arm64", "arm64be"), words(*values))


def powerpc(*values: int) -> dict[str, bytes]:
    """The same instructions for each of its architectures."""
    return {
        name: b"".join(value.to_bytes(4, machine.byte_order) for value in values)
        for name, machine in qemu.MACHINES.items()
        if name.startswith("powerpc")
    }


# LoongArch Reference Manual, volume 1; Power ISA 3.1, book I; RISC-V Instruction Set Manual, volume
# I; Arm Architecture Reference Manual for A-profile; Intel 64 and IA-32 Architectures Software
# Developer's Manual, volume 2.
RETURN = {
    **arm64(0xD65F03C0),
    "loongarch64": words(0x4C000020),
    **powerpc(0x4E800020),
    "riscv64": words(0x00008067),
    "s390x": bytes.fromhex("07fe"),
    # jmp *0(%rip), with the address behind it: a return would need a stack
    "x86_64": bytes.fromhex("ff2500000000") + WIDE.returned.to_bytes(8, "little") + bytes(2),
}
BRANCH_TO_SELF = {
    **arm64(0x14000000),
    "loongarch64": words(0x50000000),
    **powerpc(0x48000000),
    "riscv64": words(0x0000006F),
    "s390x": bytes.fromhex("a7f40000"),
    "x86_64": bytes.fromhex("ebfe"),
}
TRAP = {
    **arm64(0xD4200000),
    "loongarch64": words(0x002A0000),
    **powerpc(0x7FE00008),
    "riscv64": words(0x00100073),
    "s390x": bytes.fromhex("0001"),
    "x86_64": bytes.fromhex("cc"),
}
BEHIND_TRAP = {"x86_64": 1}
"""How far the program counter is behind a trap instruction that is executed."""
TRAP_SIGNALS = {"s390x": signal.SIGILL}
"""What a trap instruction raises where that is not SIGTRAP."""
STATUS = {"fcsr", "xer", "eflags", "nzcv", "fpcr", "fpsr", "fpc"}


def registers(arch: str, seed: int) -> dict[str, int]:
    """Random values for every register that takes any value."""
    values = random.Random(seed)
    machine = qemu.MACHINES[arch]
    return {
        name: values.getrandbits(place.bits)
        for name, place in machine.places.items()
        if name not in {"pc", "zero", machine.return_address, *STATUS}
    }


@pytest.mark.parametrize("arch", ARCHES)
class TestState:
    def test_qemu_is_there(self, arch: str) -> None:
        assert qemu.available(arch) is not None, qemu.install_hint(arch)

    def test_every_register_arrives_and_comes_back(self, arch: str) -> None:
        cases = [qemu.Case(registers(arch, seed)) for seed in range(50)]
        outcomes = qemu.run(arch, [(CODE, RETURN[arch])], CODE, cases, timeout=10)
        for case, outcome in zip(cases, outcomes, strict=True):
            held = ("pc", qemu.MACHINES[arch].return_address)
            fixed = {name: SPACE[arch].returned for name in held if name is not None}
            unset = dict.fromkeys(STATUS | qemu.MACHINES[arch].constant, 0)
            unset["eflags"] = ALWAYS_SET_FLAGS
            expected = {**unset, **case.registers, **fixed}
            assert outcome.registers == {name: expected[name] for name in outcome.registers}
            assert (outcome.signal, outcome.fault_address) == (None, None)

    def test_memory_is_fresh_in_every_case(self, arch: str) -> None:
        one = qemu.Case({}, ((DATA + 4, b"first"),), ((DATA, 16),))
        two = qemu.Case({}, ((DATA + 9, b"second"),), ((DATA, 16), (DATA + 10, 2)))
        outcomes = qemu.run(arch, [(CODE, RETURN[arch])], CODE, [one, two], timeout=10)
        assert outcomes[0].memory == (b"\0\0\0\0first".ljust(16, b"\0"),)
        assert outcomes[1].memory == (b"\0\0\0\0\0\0\0\0\0second\0", b"ec")

    def test_ranges_may_touch_pages_anywhere(self, arch: str) -> None:
        addresses = (
            SPACE[arch].usable[0],
            BOUNDARY[arch] - 3,
            SPACE[arch].usable[1] - 8,
        )
        case = qemu.Case(
            {}, tuple((at, b"12345678") for at in addresses), tuple((at, 8) for at in addresses)
        )
        code = [(BOUNDARY[arch] * 5, RETURN[arch]), (CODE, TRAP[arch])]
        (outcome,) = qemu.run(arch, code, code[0][0], [case], timeout=10)
        assert outcome.memory == (b"12345678",) * 3

    def test_a_case_may_have_its_own_entry_point(self, arch: str) -> None:
        code = [(CODE, RETURN[arch] + TRAP[arch])]
        trap = CODE + len(RETURN[arch])
        cases = [qemu.Case({}), qemu.Case({}, entry=trap), qemu.Case({})]
        outcomes = qemu.run(arch, code, CODE, cases, timeout=10)
        assert [outcome.registers["pc"] for outcome in outcomes] == [
            SPACE[arch].returned,
            trap + BEHIND_TRAP.get(arch, 0),
            SPACE[arch].returned,
        ]

    def test_thousands_of_cases_are_fast(self, arch: str) -> None:
        case = qemu.Case(registers(arch, 1), ((DATA, b"x"),), ((DATA, 64),))
        start = time.monotonic()
        outcomes = qemu.run(arch, [(CODE, RETURN[arch])], CODE, [case] * 3000, timeout=10)
        assert len(outcomes) == 3000
        assert time.monotonic() - start < 10


ADDIC = powerpc(0x30630001)
# (name, code, registers, expected registers)
INSTRUCTIONS = [
    # adds w0, w1, w2: the upper half is cleared
    ("arm64", 0x2B020020, {"x1": 2**64 - 1, "x2": 1}, {"x0": 0, "nzcv": 0x60000000}),
    ("arm64be", 0x2B020020, {"x1": 2**64 - 1, "x2": 1}, {"x0": 0, "nzcv": 0x60000000}),
    # add v1.4s, v2.4s, v3.4s
    ("arm64", 0x4EA38441, {"v2": 1 << 96 | 0xFFFFFFFF, "v3": 2 << 96 | 1}, {"v1": 3 << 96}),
    ("arm64be", 0x4EA38441, {"v2": 1 << 96 | 0xFFFFFFFF, "v3": 2 << 96 | 1}, {"v1": 3 << 96}),
    # mov v8.d[1], x0; mov x0, v8.d[0]
    ("arm64", 0x4E181C08, {"x0": 7, "d8": 5}, {"v8.high": 7, "d8": 5}),
    ("arm64", 0x4E083D00, {"v8.high": 7, "d8": 5}, {"x0": 5}),
    ("arm64be", 0x4E181C08, {"x0": 7, "d8": 5}, {"v8.high": 7, "d8": 5}),
    ("arm64be", 0x4E083D00, {"v8.high": 7, "d8": 5}, {"x0": 5}),
    # sqadd b0, b1, b2: saturates, which FPSR.QC shows
    ("arm64", 0x5E220C20, {"v1": 0x7F, "v2": 1}, {"v0": 0x7F, "fpsr": 1 << 27}),
    # mrs x0, fpcr; mrs x1, tpidr_el0; msr nzcv, x2
    ("arm64", 0xD53B4400, {"fpcr": 3 << 22}, {"x0": 3 << 22}),
    ("arm64", 0xD53BD041, {"tpidr_el0": 99}, {"x1": 99}),
    ("arm64", 0xD51B4202, {"x2": 0xA0000000}, {"nzcv": 0xA0000000}),
    ("arm64be", 0xD53B4400, {"fpcr": 3 << 22}, {"x0": 3 << 22}),
    ("arm64be", 0xD51B4202, {"x2": 0xA0000000}, {"nzcv": 0xA0000000}),
    # rotri.w a0, a0, 12: the result is sign-extended
    ("loongarch64", 0x004CB084, {"a0": 0x12345FFF}, {"a0": 0xFFFFFFFFFFF12345}),
    # add.d a2, a0, a1
    ("loongarch64", 0x00109486, {"a0": 2**64 - 1, "a1": 3}, {"a2": 2, "a0": 2**64 - 1}),
    # rotlwi r3, r3, 12
    ("powerpc64le", 0x5463603E, {"r3": 0xFFF12345}, {"r3": 0x12345FFF}),
    # addic r3, r3, 1: the carry is bit 29 of XER
    ("powerpc64le", 0x30630001, {"r3": 2**64 - 1}, {"r3": 0, "xer": 0x20040000}),
    # addze r4, r4
    ("powerpc64le", 0x7C840194, {"r4": 5, "xer": 0x20000000}, {"r4": 6, "xer": 0}),
    # cmpldi cr7, r3, 5
    ("powerpc64le", 0x2BA30005, {"r3": 5, "cr": 0xFFFFFFFF}, {"cr": 0xFFFFFFF2}),
    # the same of 32 bits; out of the lower half of 64 bits it carries into bit 18
    ("powerpc", ADDIC["powerpc"], {"r3": 2**32 - 1}, {"r3": 0, "xer": 1 << 29}),
    ("powerpc64", ADDIC["powerpc64"], {"r3": 2**32 - 1}, {"r3": 2**32, "xer": 1 << 18}),
    # vadduwm v1, v2, v3
    *(
        (name, code, {"v2": 1 << 96 | 2**32 - 1, "v3": 2 << 96 | 1}, {"v1": 3 << 96})
        for name, code in powerpc(0x10221880).items()
    ),
    # fmr f1, f2
    *((name, code, {"f2": 5}, {"f1": 5, "f2": 5}) for name, code in powerpc(0xFC201090).items()),
    # mtcrf 0x80, r3: field 0 is the most significant
    *(
        (name, code, {"r3": 0xA0000000, "cr": 0x12345678}, {"cr": 0xA2345678})
        for name, code in powerpc(0x7C680120).items()
    ),
    # mtctr r3
    ("powerpc64le", 0x7C6903A6, {"r3": 77}, {"ctr": 77}),
    # slliw a0, a1, 4: the result is sign-extended
    ("riscv64", 0x0045951B, {"a1": 0x18000001}, {"a0": 0xFFFFFFFF80000010}),
    # fmv.x.d a0, fa1
    ("riscv64", 0xE2058553, {"fa1": 2**64 - 2}, {"a0": 2**64 - 2}),
    # vlgvf %r2, %v17, 1: elements are counted from the most significant
    ("s390x", bytes.fromhex("e72100012421"), {"v17": 7 << 64, "r2": 2**64 - 1}, {"r2": 7}),
    # alcr %r2, %r3: the more significant bit of the condition code is the carry
    ("s390x", bytes.fromhex("b9980023"), {"r2": 2**32 - 1, "cc": 2}, {"r2": 0, "cc": 2}),
    # ear %r2, %a5
    ("s390x", bytes.fromhex("b24f0025"), {"a5": 9, "r2": 2**64 - 1}, {"r2": 2**64 - 2**32 + 9}),
    # set floating-point control to r2
    ("s390x", bytes.fromhex("b3840020"), {"r2": 0x00F8FF73}, {"fpc": 0x00F8FF73}),
    # paddd %xmm2, %xmm1
    ("x86_64", 0xCAFE0F66, {"xmm1": 3 << 96 | 2**32 - 1, "xmm2": 1 << 96 | 1}, {"xmm1": 4 << 96}),
    # dec %al: the carry stays, the result is zero and has even parity
    ("x86_64", 0x9090C8FE, {"rax": 0x301, "eflags": 0x1}, {"rax": 0x300, "eflags": 0x247}),
]


@pytest.mark.parametrize(("arch", "instruction", "before", "after"), INSTRUCTIONS)
def test_single_instruction(
    arch: str, instruction: int | bytes, before: dict[str, int], after: dict[str, int]
) -> None:
    given = words(instruction) if isinstance(instruction, int) else instruction
    code = [(CODE, given + RETURN[arch])]
    (outcome,) = qemu.run(arch, code, CODE, [qemu.Case(before)], timeout=10)
    assert {name: outcome.registers[name] for name in after} == after


VADD = 0x700B8C41
"""vadd.d $vr1, $vr2, $vr3 of LoongArch's LSX."""


def test_vectors_of_loongarch() -> None:
    if reason := qemu.lacking("loongarch64"):
        pytest.skip(reason)
    case = qemu.Case({"fa2": 2**64 - 1, "vr2.high": 7, "fa3": 3, "vr3.high": 2**63, "fa1": 9})
    code = [(CODE, words(VADD) + RETURN["loongarch64"])]
    (outcome,) = qemu.run("loongarch64", code, CODE, [case], timeout=10)
    assert outcome.signal is None
    assert (outcome.registers["fa1"], outcome.registers["vr1.high"]) == (2, 2**63 + 7)


def test_an_emulator_without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The halves of registers that it does not have stay as they are."""
    monkeypatch.setattr(emulator, "BESIDE_PYTHON", "/nowhere")
    if not qemu.lacking("loongarch64"):
        pytest.skip("no QEMU before 8.2 is on PATH, whose runner this tests")
    given = registers("loongarch64", 5)
    for code, signalled in ((RETURN["loongarch64"], None), (words(VADD), signal.SIGILL)):
        case = qemu.Case(given)
        (outcome,) = qemu.run("loongarch64", [(CODE, code)], CODE, [case], timeout=10)
        assert outcome.signal == signalled
        assert {name: outcome.registers[name] for name in given} == given


@pytest.mark.parametrize("arch", ARCHES)
class TestSignals:
    def one(self, arch: str, code: bytes, case: qemu.Case, timeout: float = 10) -> qemu.Outcome:
        """The outcome of a case run twice, which must not differ."""
        outcome, again = qemu.run(arch, [(CODE, code)], CODE, [case, case], timeout=timeout)
        assert outcome == again
        return outcome

    @pytest.mark.parametrize(
        ("address", "name"), [(0x66_6660, "unmapped"), (CODE, "code"), (0, "null")]
    )
    def test_store_to_what_is_not_data(self, arch: str, address: int, name: str) -> None:
        store, first, floating = {
            **{name: (code, "x0", "v2") for name, code in arm64(0xB9000001).items()},
            "loongarch64": (words(0x29800085), "a0", "fa2"),
            **{name: (code, "r3", "f2") for name, code in powerpc(0x90830000).items()},
            "riscv64": (words(0x00B52023), "a0", "fa2"),
            "s390x": (bytes.fromhex("50302000"), "r2", "v2"),
            "x86_64": (bytes.fromhex("8908"), "rax", "xmm2"),
        }[arch]
        code = RETURN[arch] + store + RETURN[arch]
        at = CODE + len(RETURN[arch])
        case = qemu.Case({first: address, floating: 5})
        outcomes = qemu.run(arch, [(CODE, code)], at, [case, case], timeout=10)
        assert outcomes[0] == outcomes[1], name
        assert outcomes[0].signal == signal.SIGSEGV
        machine = qemu.MACHINES[arch]
        told = (
            None
            if address == machine.no_address
            else address // machine.fault_bytes * machine.fault_bytes
        )
        assert outcomes[0].fault_address == told
        assert outcomes[0].registers["pc"] == at
        assert outcomes[0].registers[first] == address

    def test_illegal_instruction(self, arch: str) -> None:
        illegal = b"\x06" if arch == "x86_64" else words(0)
        outcome = self.one(arch, illegal + RETURN[arch], qemu.Case({}))
        assert (outcome.signal, outcome.registers["pc"]) == (signal.SIGILL, CODE)

    def test_trap(self, arch: str) -> None:
        outcome = self.one(arch, TRAP[arch] + RETURN[arch], qemu.Case({}))
        at = CODE + BEHIND_TRAP.get(arch, 0)
        expected = TRAP_SIGNALS.get(arch, signal.SIGTRAP)
        assert (outcome.signal, outcome.registers["pc"]) == (expected, at)

    def test_return_to_elsewhere(self, arch: str) -> None:
        name = qemu.MACHINES[arch].return_address
        if name is None:
            stack = (DATA, (0x77_7770).to_bytes(8, "little"))
            outcome = self.one(arch, b"\xc3", qemu.Case({"rsp": DATA}, (stack,)))
        else:
            outcome = self.one(arch, RETURN[arch], qemu.Case({name: 0x77_7770}))
        assert (outcome.signal, outcome.registers["pc"]) == (signal.SIGSEGV, 0x77_7770)

    def test_endless_loop_ends_in_time(self, arch: str) -> None:
        start = time.monotonic()
        case = qemu.Case(registers(arch, 3), ((DATA, b"kept"),), ((DATA, 4),))
        outcome = self.one(arch, BRANCH_TO_SELF[arch], case, timeout=0.2)
        assert time.monotonic() - start < 10
        assert (outcome.signal, outcome.fault_address) == (signal.SIGALRM, None)
        assert outcome.registers["pc"] == CODE
        assert outcome.memory == (b"kept",)


@pytest.mark.parametrize("arch", ARCHES)
class TestErrors:
    @pytest.mark.parametrize(
        ("case", "message"),
        [
            (qemu.Case({"x": 1}), "has no register x"),
            (qemu.Case({"pc": 0}), "pc is set by the entry point"),
            (qemu.Case({"zero": 1}), "zero is always zero|has no register zero"),
            (
                qemu.Case({"lr": 2**64, "ra": 2**64}),
                "does not fit the (64|32) bits|has no register",
            ),
            (qemu.Case({}, ((0x8000, b"x"),)), "cannot map 1 bytes at 0x8000"),
            (qemu.Case({}, (), ((2**64 - 8, 16),)), "cannot map 16 bytes"),
            (qemu.Case({}, (), ((0x40_0000_0000, 1),)), "cannot map 1 bytes at 0x4000000000"),
            (qemu.Case({}, ((CODE + 8, b"x"),)), "data at 0x100000 would share a page with code"),
            (qemu.Case({}, ((DATA, b"x"),) * 65), "65 memory ranges in one case"),
        ],
    )
    def test_bad_case(self, arch: str, case: qemu.Case, message: str) -> None:
        with pytest.raises(qemu.QemuError, match=message):
            qemu.run(arch, [(CODE, RETURN[arch])], CODE, [case], timeout=1)

    def test_code_that_ends_the_runner(self, arch: str) -> None:
        exit_with_7 = {
            **arm64(0xD2800BC8, 0xD28000E0, 0xD4000001),
            "loongarch64": words(0x0281780B, 0x02801C04, 0x002B0000),
            **powerpc(0x380000EA, 0x38600007, 0x44000002),
            "riscv64": words(0x05E00893, 0x00700513, 0x00000073),
            "s390x": bytes.fromhex("a71900f8a72900070a00"),
            "x86_64": bytes.fromhex("b8e7000000bf070000000f05"),
        }
        with pytest.raises(qemu.QemuError, match="exit status 7"):
            qemu.run(arch, [(CODE, exit_with_7[arch])], CODE, [qemu.Case({})], timeout=1)

    @pytest.mark.usefixtures("without_qemu")
    def test_missing_qemu_names_the_command_that_installs_it(self, arch: str) -> None:
        assert qemu.available(arch) is None
        with pytest.raises(qemu.QemuError, match="sudo apt-get install qemu-user"):
            qemu.run(arch, [(CODE, RETURN[arch])], CODE, [qemu.Case({})], timeout=1)


def test_unknown_architecture() -> None:
    with pytest.raises(qemu.QemuError, match="no runner for architecture m68k"):
        qemu.available("m68k")
