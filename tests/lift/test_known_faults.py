"""Faults of the stock lifters that are known: stock angr shows them, the engines here do not.

A test of stock angr that fails says that angr does it right now, and what here can go.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import angr
import archinfo
import pytest
from angr.engines import UberEnginePcode

from tests.lift.programs import ENTRY, run
from tests.validate.readings import stock
from verify.arch import by_name
from verify.arch.model import Lifter
from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.engine import CodeReader, Engine
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import RegionMemory
from verify.lift.select import engine_for
from verify.lift.semantics.riscv64 import ENCODED
from verify.lift.vex import _UNSET, VexEngine
from verify.prove.setting import unknown_registers
from verify.terms import evaluate, variables
from verify.validate.campaign import validate_all
from verify.validate.encodings import encoding_of

RISCV = by_name("riscv64")
RISCV_PCODE = replace(RISCV, lifter=Lifter("pcode", "RISCV:LE:64:default"))
LI_A0_5 = 0x00500513
LUI_A0 = 0x12345537
C_NOP = bytes.fromhex("0100")
LOADS_INTO_X0 = {
    "lb": (0x0005_8003, 1),
    "lh": (0x0005_9003, 2),
    "lw": (0x0005_A003, 4),
    "ld": (0x0005_B003, 8),
    "lbu": (0x0005_C003, 1),
    "lhu": (0x0005_D003, 2),
    "lwu": (0x0005_E003, 4),
}
SHIFTS = {
    "sll": 0x00001033,
    "srl": 0x00005033,
    "sra": 0x40005033,
    "sllw": 0x0000103B,
    "srlw": 0x0000503B,
    "sraw": 0x4000503B,
}


def words(*instructions: int) -> bytes:
    """Instructions of 32 bits."""
    return b"".join(word.to_bytes(4, "little") for word in instructions)


def stock_state(code: bytes, architecture: archinfo.Arch, engine: Any = None) -> Any:
    """angr's own state behind the first block of some code."""
    options = {"backend": "blob", "arch": architecture, "base_addr": ENTRY, "entry_point": ENTRY}
    chosen = {} if engine is None else {"engine": engine}
    project = angr.Project(io.BytesIO(code), main_opts=options, **chosen)
    successors = project.factory.successors(project.factory.blank_state(addr=ENTRY))
    (state,) = successors.flat_successors or successors.unconstrained_successors
    return state


def reader(code: bytes) -> CodeReader:
    """Reads code at ENTRY."""

    def read(address: int, size: int) -> bytes | None:
        return code[address - ENTRY :][:size] if size <= len(code) - (address - ENTRY) else None

    return read


def machine_for(engine: Engine) -> Machine:
    """A machine at ENTRY of which nothing is known."""
    converter = Converter()
    return Machine(
        Cells(engine.layout.little, unknown_registers(engine.layout, converter)),
        RegionMemory(True, {}, lambda *_: None, {}),
        converter,
        True,
        ENTRY,
        engine.layout.constants,
    )


def accesses(engine: Engine) -> list[tuple[str, int]]:
    """Kind and size of the accesses of the instruction at ENTRY."""
    (successor,) = engine.run(engine.lift(ENTRY, 1), machine_for(engine))
    return [(access.kind, access.size) for access in successor.machine.accesses]


class TestZeroRegisterOfRiscv:
    """VEX has no value for the register that is hard-wired to zero: `Layout.constants` goes."""

    def test_stock(self) -> None:
        state = stock_state(words(LI_A0_5, 0x00008067), archinfo.ArchRISCV64())
        assert state.regs.zero.symbolic and state.regs.a0.symbolic

    def test_here(self) -> None:
        _, registers = run("riscv64", [LI_A0_5])
        assert registers["a0"].value == 5


class TestBlockOf400Bytes:
    """P-code blocks are lifted from 400 bytes and zeros behind: the limit of a block goes."""

    CODE = C_NOP + words(*[LUI_A0] * 120)

    def test_stock(self) -> None:
        architecture = archinfo.ArchPcode(RISCV_PCODE.lifter.language)
        state = stock_state(self.CODE, architecture, UberEnginePcode)
        assert state.solver.eval(state.regs.a0) == 0x5000

    def test_here(self) -> None:
        engine = engine_for(RISCV_PCODE, reader(self.CODE))
        machine, pc = machine_for(engine), ENTRY
        while pc < ENTRY + len(self.CODE):
            block = engine.lift(pc)
            (successor,) = engine.run(block, machine)
            machine, pc = successor.machine, pc + block.size
            value = machine.registers.read(*engine.layout.registers["a0"])
            assert machine.converter.term(value).value == 0x12345000
        assert pc == ENTRY + len(self.CODE)


@pytest.mark.parametrize("name", LOADS_INTO_X0)
class TestLoadIntoX0:
    """VEX drops a load whose value nobody gets: the additions for them go."""

    def test_stock(self, name: str) -> None:
        word, _ = LOADS_INTO_X0[name]
        assert accesses(stock(RISCV, reader(words(word)))) == []

    def test_here(self, name: str) -> None:
        word, size = LOADS_INTO_X0[name]
        assert accesses(engine_for(RISCV, reader(words(word)))) == [("read", size)]


class TestIndirectJump:
    """VEX keeps the lowest bit of the target: `IGNORED_IN_TARGET` of RISC-V goes."""

    CODE = words(0xB650_0F67)
    """jalr t5, -0x49b(zero)"""

    def target(self, engine: Engine) -> int | None:
        machine = machine_for(engine)
        (successor,) = engine.run(engine.lift(ENTRY, 1), machine)
        return machine.converter.term(successor.target).value

    def test_stock(self) -> None:
        assert self.target(stock(RISCV, reader(self.CODE))) == 2**64 - 0x49B

    def test_here(self) -> None:
        assert self.target(engine_for(RISCV, reader(self.CODE))) == 2**64 - 0x49C


class TestZbb:
    """VEX does not decode rotates and negated operations: the additions for them go."""

    ADDED = tuple(one for one in ENCODED if "Zbb" in one.semantics.manual)

    def test_stock(self) -> None:
        for one in self.ADDED:
            with pytest.raises(Unsupported, match="VEX does not decode"):
                stock(RISCV, reader(words(one.value))).lift(ENTRY, 1)

    def test_here(self) -> None:
        for one in self.ADDED:
            assert engine_for(RISCV, reader(words(one.value))).lift(ENTRY, 1).size == 4


@pytest.mark.parametrize("lifter", [stock, engine_for])
def test_amounts_of_shifts_are_masked(lifter: Any) -> None:
    """What was wrong in angr/vex#76 is right in the VEX that is used."""
    encoding = encoding_of("riscv64")
    forms = [encoding.form(word.to_bytes(4, "little")) for word in SHIFTS.values()]
    validation = validate_all(RISCV, [], forms=forms, lifter=lifter)
    assert validation.passed
    assert {mnemonic for group in validation.groups for mnemonic in group.mnemonics} == set(SHIFTS)


class TestChoiceBetweenZeros:
    """claripy takes 0.0 and -0.0 for the same: a choice between bits (`vex._ITE`) goes."""

    CODE = (0xF100001F, 0xD2F00001, 0x9E670021, 0x2F00E402, 0x1E620C20)
    """cmp x0, 0; mov x1, 1 << 63; fmov d1, x1; movi d2, 0; fcsel d0, d1, d2, eq."""

    def test_stock(self) -> None:
        code = b"".join(word.to_bytes(4, "little") for word in (*self.CODE, 0xD65F03C0))
        state = stock_state(code, archinfo.ArchAArch64())
        assert not state.regs.d0.symbolic

    def test_here(self) -> None:
        _, registers = run("arm64", list(self.CODE))
        (argument,) = variables([registers["v0"]])
        for value, chosen in ((0, 1 << 63), (1, 0)):
            assert evaluate([registers["v0"]], {argument: value})[registers["v0"]] == chosen


class TestProcessorThatIsNotDescribed:
    """archinfo leaves fields of what it tells VEX unset, and VEX reads what lies there:
    `vex._UNSET` goes, and with a size of the block so does the refusal of dc zva."""

    DC_ZVA = 0xD50B_7420

    def test_stock(self) -> None:
        assert not set(_UNSET) & set(archinfo.ArchAArch64().vex_archinfo)

    def test_here(self) -> None:
        engine = engine_for(by_name("arm64"), lambda _address, _size: None)
        assert isinstance(engine, VexEngine)
        assert set(_UNSET) <= set(engine.state.arch.vex_archinfo)
        with pytest.raises(Unsupported, match="clears as many bytes as DCZID_EL0 says"):
            run("arm64", [self.DC_ZVA])


@pytest.mark.parametrize(
    ("architecture", "code"),
    [
        ("arm64", "1f4000d5"),  # cfinv
        ("arm64", "a0421bd5"),  # msr dit, x0
        ("arm64", "050028d5"),  # sysl x5, #0, c0, c0, #0
        ("arm64", "df4203d5"),  # msr daifset, #2
        ("x86_64", "0f01f8"),  # swapgs
    ],
)
def test_what_vex_does_not_decode_is_no_nop(architecture: str, code: str) -> None:
    """pyvex's spotters give such an instruction a length, and no effect."""
    known = by_name(architecture)
    content = bytes.fromhex(code).ljust(16, b"\0")
    engine = engine_for(known, lambda at, size: content[at - ENTRY :][:size] or None)
    with pytest.raises(Unsupported, match="does not decode"):
        engine.lift(ENTRY, 1)
