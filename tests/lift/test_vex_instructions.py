"""Single instructions of x86-64 and RISC-V, through VEX and our additions to it, against QEMU.

Each is executed symbolically once; its result is evaluated on random states and compared with what
QEMU computes from them, register by register and flag by flag.
"""

from __future__ import annotations

import random

import pytest

from verify import qemu
from verify.arch import Architecture, Saved, by_name
from verify.lift.angr_import import import_angr
from verify.qemu.machines import WIDE
from verify.terms import Term, evaluate, var, variables
from verify.witness import registers as abi

import_angr()

from verify.lift.cells import Cells  # noqa: E402
from verify.lift.convert import Converter  # noqa: E402
from verify.lift.machine import UNDEFINED, Machine, Unsupported  # noqa: E402
from verify.lift.memory import RegionMemory  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.prove.setting import register_value, unknown_registers  # noqa: E402

CODE = 0x10_0000
STATES = 50
CORNERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 2**63 - 1, 2**63, 2**64 - 1)
FLAGS = {"cf", "pf", "af", "zf", "sf", "of"}

# Code, and the flags that it leaves undefined (Intel SDM, volume 2).
X86_64: dict[str, tuple[str, set[str]]] = {
    "add eax, ecx": ("01c8", set()),
    "add al, cl": ("00c8", set()),
    "adc rax, rcx": ("4811c8", set()),
    "sbb ax, cx": ("6619c8", set()),
    "sub rax, rcx": ("4829c8", set()),
    "cmp al, cl": ("38c8", set()),
    "cmp rax, rcx": ("4839c8", set()),
    "neg eax": ("f7d8", set()),
    "dec al": ("fec8", set()),
    "dec rcx": ("48ffc9", set()),
    "inc ax": ("66ffc0", set()),
    "xor eax, ecx": ("31c8", {"af"}),
    "test rax, rax": ("4885c0", {"af"}),
    "rol eax, 7": ("c1c007", {"of"}),
    "ror rax, 16": ("48c1c810", {"of"}),
    "shl eax, 12": ("c1e00c", {"af", "of"}),
    "shr rax, 1": ("48d1e8", {"af"}),
    "sar eax, 3": ("c1f803", {"af", "of"}),
    "shl eax, cl": ("d3e0", {"af", "of"}),
    "rol eax, cl": ("d3c0", {"of"}),
    "mov ah, cl": ("88cc", set()),
    "mov al, 10": ("b00a", set()),
    "mov eax, ecx": ("89c8", set()),
    "movzx eax, ch": ("0fb6c5", set()),
    "movsxd rax, ecx": ("4863c1", set()),
    "bswap eax": ("0fc8", set()),
    "lea rax, [rcx+4*rdx+5]": ("488d449105", set()),
    "cmp rax, rcx; cmovl rdx, rsi": ("4839c8480f4cd6", set()),
    "stc; adc eax, ecx": ("f911c8", set()),
    **{f"set{n:x} al": (f"0f9{n:x}c0", set()) for n in range(16)},
    **{f"cmp eax, ecx; set{n:x} al": (f"39c80f9{n:x}c0", set()) for n in range(16)},
    **{f"add al, cl; set{n:x} dl": (f"00c80f9{n:x}c2", set()) for n in range(16)},
    "paddd xmm1, xmm2": ("660ffeca", set()),
    "paddq xmm8, xmm9": ("66450fd4c1", set()),
    "pxor xmm4, xmm1": ("660fefe1", set()),
    "pxor xmm4, xmm4": ("660fefe4", set()),
    "por xmm4, xmm0": ("660febe0", set()),
    "pslld xmm0, 16": ("660f72f010", set()),
    "pslld xmm0, 40": ("660f72f028", set()),
    "psrld xmm4, 20": ("660f72d414", set()),
    "pshufd xmm2, xmm2, 0x39": ("660f70d239", set()),
    "pshufd xmm4, xmm2, 0x93": ("660f70e293", set()),
    "movdqa xmm1, xmm5": ("660f6fcd", set()),
    "movq xmm9, rax": ("664c0f6ec8", set()),
    "movd eax, xmm3": ("660f7ed8", set()),
    "punpckldq xmm1, xmm2": ("660f62ca", set()),
}


def _r(funct7: int, funct3: int, opcode: int, rs2: int = 11, rd: int = 12) -> str:
    """An instruction of format R (or I, with a shift amount): rd = a2, rs1 = a0, rs2 = a1."""
    word = funct7 << 25 | rs2 << 20 | 10 << 15 | funct3 << 12 | rd << 7 | opcode
    return word.to_bytes(4, "little").hex()


RISCV64 = {
    **{
        name: _r(funct7, funct3, opcode)
        for name, funct7, funct3, opcode in (
            ("add", 0x00, 0, 0x33),
            ("sub", 0x20, 0, 0x33),
            ("addw", 0x00, 0, 0x3B),
            ("subw", 0x20, 0, 0x3B),
            ("sll", 0x00, 1, 0x33),
            ("sllw", 0x00, 1, 0x3B),
            ("srl", 0x00, 5, 0x33),
            ("srlw", 0x00, 5, 0x3B),
            ("sra", 0x20, 5, 0x33),
            ("sraw", 0x20, 5, 0x3B),
            ("slt", 0x00, 2, 0x33),
            ("sltu", 0x00, 3, 0x33),
            ("xor", 0x00, 4, 0x33),
            ("or", 0x00, 6, 0x33),
            ("and", 0x00, 7, 0x33),
            ("rol", 0x30, 1, 0x33),
            ("rolw", 0x30, 1, 0x3B),
            ("ror", 0x30, 5, 0x33),
            ("rorw", 0x30, 5, 0x3B),
            ("andn", 0x20, 7, 0x33),
            ("orn", 0x20, 6, 0x33),
            ("xnor", 0x20, 4, 0x33),
        )
    },
    **{f"slliw {n}": _r(0x00, 1, 0x1B, n) for n in (0, 7, 16, 31)},
    **{f"srliw {n}": _r(0x00, 5, 0x1B, n) for n in (0, 12, 31)},
    **{f"sraiw {n}": _r(0x20, 5, 0x1B, n) for n in (0, 12, 31)},
    **{f"slli {n}": _r(n >> 5, 1, 0x13, n & 31) for n in (0, 7, 32, 63)},
    **{f"srli {n}": _r(n >> 5, 5, 0x13, n & 31) for n in (0, 32, 63)},
    **{f"rori {n}": _r(0x30 | n >> 5, 5, 0x13, n & 31) for n in (0, 7, 32, 63)},
    **{f"roriw {n}": _r(0x30, 5, 0x1B, n) for n in (0, 7, 16, 31)},
    "ror to a source": _r(0x30, 5, 0x33, rd=10),
    "rolw to zero": _r(0x30, 1, 0x3B, rd=0),
    "add to zero": _r(0x00, 0, 0x33, rd=0),
    "add zero": _r(0x00, 0, 0x33, rs2=0),
    "lui": "378e7061",
    "addiw": "1b0e5e86",
    "c.xor": "a18f",
    "c.addi": "7d17",
    "c.mv": "be89",
    "auipc zero (lpad)": "17000000",
}

CASES = [
    *(("x86_64", name, code, undefined) for name, (code, undefined) in X86_64.items()),
    *(("riscv64", name, code, set[str]()) for name, code in RISCV64.items()),
]
RETURN = {
    "riscv64": "67800000",
    "x86_64": "ff2500000000" + WIDE.returned.to_bytes(8, "little").hex(),
}
KEPT_OUT = {"df", "ac", "fcsr"}


def after(architecture: Architecture, code: bytes) -> dict[str, Term]:
    """Every observable register behind the code, in terms of `init_<storage>`."""

    def read(address: int, size: int) -> bytes | None:
        offset = address - CODE
        return code[offset : offset + size] if 0 <= offset <= len(code) - size else None

    engine = engine_for(architecture, read)
    converter = Converter()
    machine = Machine(
        Cells(engine.layout.little, unknown_registers(engine.layout, converter)),
        RegionMemory(True, {}, read, {}),
        converter,
        True,
        CODE,
        engine.layout.constants,
    )
    while machine.pc < CODE + len(code):
        block = engine.lift(machine.pc)
        (successor,) = engine.run(block, machine)
        machine = successor.machine
        machine.pc += block.size
    return {
        name: register_value(machine, engine, architecture, name) for name in observed(architecture)
    }


def observed(architecture: Architecture) -> list[str]:
    return [r.name for r in abi.observed(architecture, *Saved) if r.name not in KEPT_OUT]


def state(architecture: Architecture, seed: int) -> dict[str, int]:
    """Values of all registers as QEMU names them."""
    values = random.Random(seed)
    registers: dict[str, int] = {}
    for name in observed(architecture):
        corner = values.choice(CORNERS) | values.choice(CORNERS) << 64
        random_one = values.getrandbits(128)
        value = corner if values.random() < 0.4 else random_one
        abi.write(architecture, registers, name, value)
    return registers


def parts(architecture: Architecture, variable: Term) -> list[tuple[str, int]]:
    """The registers that a variable `init_<storage>` consists of, and their lowest bits in it."""
    shown = set(observed(architecture))
    return [
        (register.name, register.bits[1] if register.bits else 0)
        for register in architecture.registers
        if f"init_{register.storage}" == variable.name and register.name in shown
    ]


@pytest.mark.parametrize(
    ("name", "code", "undefined"),
    [case[:1] + case[2:] for case in CASES],
    ids=[f"{arch} {text}" for arch, text, _, _ in CASES],
)
def test_against_qemu(name: str, code: str, undefined: set[str]) -> None:
    architecture = by_name(name)
    instruction = bytes.fromhex(code)
    terms = after(architecture, instruction)
    free = {v: parts(architecture, v) for v in variables(terms.values())}
    states = [state(architecture, seed) for seed in range(STATES)]
    outcomes = qemu.run(
        name,
        [(CODE, instruction + bytes.fromhex(RETURN[name]))],
        CODE,
        [qemu.Case(held | ({"ra": WIDE.returned} if "ra" in held else {})) for held in states],
        timeout=5,
    )
    compared = [r for r in terms if r not in undefined and r != "ra"]
    for held, outcome in zip(states, outcomes, strict=True):
        assert outcome.signal is None
        values = {
            variable: sum(abi.read(architecture, held, r) << low for r, low in registers)
            for variable, registers in free.items()
        }
        found = evaluate(terms.values(), values)
        ours = {r: found[terms[r]] for r in compared}
        theirs = {r: abi.read(architecture, outcome.registers, r) for r in compared}
        assert ours == theirs


def test_the_first_undecodable_instruction_is_named() -> None:
    with pytest.raises(Unsupported, match=f"{CODE + 4:#x}: VEX does not decode"):
        after(by_name("riscv64"), bytes.fromhex("13000000ffffffff"))


@pytest.mark.parametrize("code", ["734010ce", "73c0c0cd"])
def test_the_shadow_stack_is_decoded_but_not_executed(code: str) -> None:
    with pytest.raises(Unsupported, match=f"{CODE + 4:#x}: the shadow stack is not modelled"):
        after(by_name("riscv64"), bytes.fromhex("13000000" + code))


def test_constant_flags_are_seen_to_be_constant() -> None:
    terms = after(by_name("x86_64"), bytes.fromhex("b001fec8"))  # mov al, 1; dec al
    assert (terms["zf"].value, terms["sf"].value, terms["of"].value) == (1, 0, 0)
    assert variables([terms["cf"]]) == {var("init_cc_dep1", 64)}


def test_an_undefined_flag_has_any_value_and_is_not_cleared() -> None:
    terms = after(by_name("x86_64"), bytes.fromhex("31c0"))  # xor eax, eax
    assert (terms["zf"].value, terms["cf"].value) == (1, 0)
    names = {variable.name for variable in variables((terms["af"],))}
    assert "init_cc_dep1" in names
    assert any(name.startswith(UNDEFINED) for name in names)


def test_every_instruction_is_disassembled() -> None:
    words = (0x6175_551B, 0x0000_7003, 0xFE45_7013, 0xFFFC_B003, 0x40B5_7633)
    code = b"".join(word.to_bytes(4, "little") for word in words) + b"\1\0"

    def read(address: int, size: int) -> bytes | None:
        offset = address - CODE
        return code[offset : offset + size] if 0 <= offset <= len(code) - size else None

    shown = engine_for(by_name("riscv64"), read).disassemble(CODE, 100)
    assert [address - CODE for address, _ in shown] == [0, 4, 8, 12, 16, 20]
    assert [text for _, text in shown] == [
        "roriw a0, a0, 0x17",
        ".byte 0x03, 0x70, 0x00, 0x00",
        "andi zero, a0, -0x1c",
        "ld zero, -1(s9)",
        "andn a2, a0, a1",
        "c.nop",
    ]
