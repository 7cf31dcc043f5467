"""s390x under VEX: condition codes and lanes, against Python's integers.

Condition codes: z/Architecture Principles of Operation, chapter 7.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from pathlib import Path

import archinfo
import pytest
import pyvex

from verify.arch import by_name
from verify.lift.angr_import import import_angr
from verify.lift.engine import Engine
from verify.terms import Term, const, evaluate, extract, variables

import_angr()

from verify.lift.cells import Cells  # noqa: E402
from verify.lift.convert import Converter  # noqa: E402
from verify.lift.machine import Machine, Unsupported  # noqa: E402
from verify.lift.memory import RegionMemory  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.prove.setting import register_value, unknown_registers  # noqa: E402

CODE = 0x1000
VALUES = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63 - 1, 2**63, 2**64 - 1)
PAIRS = [(a, b) for a in VALUES for b in VALUES]


def run(code: str) -> tuple[Engine, Machine, Callable[[str], Term]]:
    """Execute instructions in hexadecimal: the engine, the machine behind them, and the term of the
    register of a name."""
    data = bytes.fromhex(code)
    architecture = by_name("s390x")

    def read(address: int, size: int) -> bytes | None:
        offset = address - CODE
        return data[offset : offset + size] if 0 <= offset <= len(data) - size else None

    engine = engine_for(architecture, read)
    converter = Converter()
    machine = Machine(
        Cells(engine.layout.little, unknown_registers(engine.layout, converter)),
        RegionMemory(False, {}, read, {}),
        converter,
        False,
        CODE,
        engine.layout.constants,
    )
    while machine.pc < CODE + len(data):
        block = engine.lift(machine.pc)
        (successor,) = engine.run(block, machine)
        machine = successor.machine
        machine.pc += block.size
    return engine, machine, lambda name: register_value(machine, engine, architecture, name)


def signed(value: int, width: int) -> int:
    return value - (value >> width - 1 << width)


def sign(value: int) -> int:
    return 0 if value == 0 else 1 if value < 0 else 2


def signed_code(exact: int, width: int) -> int:
    result = signed(exact & (1 << width) - 1, width)
    return sign(result) if result == exact else 3


def unsigned_code(exact: int, width: int) -> int:
    """Of an addition; of a subtraction, the left operand plus the complement of the right one."""
    return 2 * (exact >> width) + (exact & (1 << width) - 1 != 0)


Setter = Callable[[int, int, int, int], int]


def complement(value: int, width: int) -> int:
    return value ^ (1 << width) - 1


# By the mnemonics for 32 and 64 bits: the encodings (of r2 and r3) and the condition code, from the
# operands, the old condition code and the width.
SETTERS: dict[str, tuple[tuple[str, str], Setter]] = {
    "ar, agr": (
        ("1a23", "b9080023"),
        lambda a, b, c, w: signed_code(signed(a, w) + signed(b, w), w),
    ),
    "sr, sgr": (
        ("1b23", "b9090023"),
        lambda a, b, c, w: signed_code(signed(a, w) - signed(b, w), w),
    ),
    "alr, algr": (("1e23", "b90a0023"), lambda a, b, c, w: unsigned_code(a + b, w)),
    "slr, slgr": (
        ("1f23", "b90b0023"),
        lambda a, b, c, w: unsigned_code(a + complement(b, w) + 1, w),
    ),
    "alcr, alcgr": (("b9980023", "b9880023"), lambda a, b, c, w: unsigned_code(a + b + c // 2, w)),
    "slbr, slbgr": (
        ("b9990023", "b9890023"),
        lambda a, b, c, w: unsigned_code(a + complement(b, w) + c // 2, w),
    ),
    "nr, ngr": (("1423", "b9800023"), lambda a, b, c, w: int(a & b != 0)),
    "xr, xgr": (("1723", "b9820023"), lambda a, b, c, w: int(a != b)),
    "cr, cgr": (("1923", "b9200023"), lambda a, b, c, w: sign(signed(a, w) - signed(b, w))),
    "clr, clgr": (("1523", "b9210023"), lambda a, b, c, w: sign(a - b)),
    "ltr, ltgr": (("1223", "b9020023"), lambda a, b, c, w: sign(signed(b, w))),
}


def given(terms: list[Term], **values: int) -> dict[Term, int]:
    known = {f"init_{name}": value for name, value in values.items()}
    return {term: known[str(term.name)] for term in variables(terms)}


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", SETTERS)
def test_condition_code(name: str, width: int) -> None:
    encodings, code = SETTERS[name]
    _, _, register = run(encodings[width == 64])
    term = register("cc")
    mask = (1 << width) - 1
    for a, b in PAIRS:
        for old in range(4):
            values = given([term], r2=a, r3=b, cc_dep1=old)
            assert evaluate([term], values)[term] == code(a & mask, b & mask, old, width), (a, b)


def test_a_test_of_one_bit() -> None:
    """tmll r2, 4: all of the bits tested are zero, or all are one."""
    _, _, register = run("a7210004")
    term = register("cc")
    for value in (*VALUES, 4, 5, 2**64 - 5):
        assert evaluate([term], given([term], r2=value))[term] == (3 if value & 4 else 0)


def test_counter_of_two_words() -> None:
    """alsih r3, 1; alcr r3, r1: the carry of the higher half goes into the lower one."""
    _, _, register = run("cc3a00000001b9980031")
    term = register("r3")
    for old in (0, 1, 2**32 - 1, 2**64 - 1, 0xFFFF_FFFF_0000_0000, 0x1234_5678_9ABC_DEF0):
        low = (old >> 32) + 1
        expected = low % 2**32 << 32 | (old + (low >> 32)) % 2**32
        values = given([term], r3=old, r1=0)
        assert evaluate([term], values)[term] == expected


@pytest.mark.parametrize("mask", range(16))
def test_branch_on_condition(mask: int) -> None:
    """brc mask: taken where bit 3 - cc of the mask is set."""
    code = bytes.fromhex(f"a7{mask:x}40100")
    architecture = by_name("s390x")
    engine = engine_for(architecture, lambda at, size: code if (at, size) == (CODE, 4) else None)
    _, machine, _ = run("1815")
    block = engine.lift(CODE)
    taken = {CODE + 0x200: set[int](), CODE + 4: set[int]()}
    for code_value in range(4):
        copy = machine.copy()
        offset, _ = engine.layout.registers["cc_dep1"]
        copy.put(offset, copy.converter.leaf(const(code_value, 64)))
        (successor,) = engine.run(block, copy)
        target = copy.converter.term(successor.target).value
        assert target is not None
        taken[target].add(code_value)
    assert taken[CODE + 0x200] == {n for n in range(4) if mask & 8 >> n}


def lanes(value: int, width: int) -> list[int]:
    """The lanes of a vector of 128 bits, the most significant first."""
    text = f"{value:0128b}"
    return [int(text[at : at + width], 2) for at in range(0, 128, width)]


def vector(parts: list[int], width: int) -> int:
    return int("".join(f"{part:0{width}b}" for part in parts), 2)


def rotated(width: int, amount: int) -> Callable[[int, int, int], int]:
    def compute(a: int, _b: int, _c: int) -> int:
        by, mask = amount % width, (1 << width) - 1
        return vector([(x << by | x >> width - by) & mask for x in lanes(a, width)], width)

    return compute


def rotated_by_lanes(a: int, b: int, _c: int) -> int:
    pairs = zip(lanes(a, 32), lanes(b, 32), strict=True)
    return vector([(x << n % 32 | x >> 32 - n % 32) & 2**32 - 1 for x, n in pairs], 32)


def shifted(
    width: int, amount: int | None, shift: Callable[[int, int], int]
) -> Callable[[int, int, int], int]:
    """Each lane of the first vector shifted by the amount, or by the same lane of the second."""

    def compute(a: int, b: int, _c: int) -> int:
        amounts = lanes(b, width) if amount is None else [amount] * (128 // width)
        pairs = zip(lanes(a, width), amounts, strict=True)
        return vector([shift(x, n % width) & (1 << width) - 1 for x, n in pairs], width)

    return compute


def packed(width: int) -> Callable[[int, int, int], int]:
    """The less significant halves of the lanes of both vectors."""

    def compute(a: int, b: int, _c: int) -> int:
        half = width // 2
        return vector([x & (1 << half) - 1 for x in (*lanes(a, width), *lanes(b, width))], half)

    return compute


def permuted(a: int, b: int, c: int) -> int:
    source = [*lanes(a, 8), *lanes(b, 8)]
    return vector([source[n % 32] for n in lanes(c, 8)], 8)


def replaced(number: int) -> Callable[[int, int, int], int]:
    """The doubleword of that number, counted from the most significant, is 0x1122334455667788."""

    def compute(_a: int, _b: int, old: int) -> int:
        parts = lanes(old, 64)
        parts[number] = 0x1122_3344_5566_7788
        return vector(parts, 64)

    return compute


def merged(width: int, *, high: bool) -> Callable[[int, int, int], int]:
    """The lanes of one half of both vectors in turn."""

    def compute(a: int, b: int, _: int) -> int:
        half = slice(0, 64 // width) if high else slice(64 // width, None)
        pairs = zip(lanes(a, width)[half], lanes(b, width)[half], strict=True)
        return vector([lane for pair in pairs for lane in pair], width)

    return compute


# r1 = 0x1122334455667788 (llihf, oilf), for the instructions that need a number.
NUMBER = "c01e11223344c01d55667788"
# Of v1 and v2, and v3 that is both an operand and the result.
VECTORS: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "verllb 3": ("e73100030033", rotated(8, 3)),
    "verllh 9": ("e73100091033", rotated(16, 9)),
    "verllf 12": ("e731000c2033", rotated(32, 12)),
    "verllf 39": ("e73100272033", rotated(32, 39)),
    "verllg 40": ("e73100283033", rotated(64, 40)),
    "veslf 33": ("e73100212030", shifted(32, 33, lambda x, n: x << n)),
    "vesrlg 5": ("e73100053038", shifted(64, 5, lambda x, n: x >> n)),
    "vesrah 17": ("e7310011103a", shifted(16, 17, lambda x, n: signed(x, 16) >> n)),
    "veslvb": ("e73120000070", shifted(8, None, lambda x, n: x << n)),
    "vesrlvf": ("e73120002078", shifted(32, None, lambda x, n: x >> n)),
    "vesravg": ("e7312000307a", shifted(64, None, lambda x, n: signed(x, 64) >> n)),
    "vpkf": ("e73120002094", packed(32)),
    "verllvf": ("e73120002073", rotated_by_lanes),
    "vperm": ("e7312000308c", permuted),
    "vlvgg 0": (NUMBER + "e73100003022", replaced(0)),
    "vlvgg 1": (NUMBER + "e73100013022", replaced(1)),
    "vsldb 4": ("e73120040077", lambda a, b, _: (a << 128 | b) >> 96 & 2**128 - 1),
    "vmrhb": ("e73120000061", merged(8, high=True)),
    "vmrhf": ("e73120002061", merged(32, high=True)),
    "vmrlf": ("e73120002060", merged(32, high=False)),
    "vrepf 1": ("e7310001204d", lambda a, b, _: vector([lanes(a, 32)[1]] * 4, 32)),
    "vx": ("e7312000006d", lambda a, b, _: a ^ b),
    "vaf": (
        "e731200020f3",
        lambda a, b, _: vector(
            [(x + y) % 2**32 for x, y in zip(lanes(a, 32), lanes(b, 32), strict=True)], 32
        ),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    code, compute = VECTORS[name]
    _, _, register = run(code)
    result = register("v3")
    values = random.Random(name)
    for _ in range(20):
        a, b, c = (values.getrandbits(128) for _ in range(3))
        found = evaluate([result], given([result], v1=a, v2=b, v3=c))[result]
        assert found == compute(a, b, c)


@pytest.mark.parametrize(("size", "width"), [(1, 16), (2, 32), (3, 64)])
def test_store_with_reversed_bytes(size: int, width: int) -> None:
    """vstbr v1, 0(r2)"""
    _, machine, _ = run(f"e6102000{size}00e")
    (access,) = machine.accesses
    value = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF
    words = [lane.to_bytes(width // 8, "little") for lane in lanes(value, width)]
    stored = evaluate([access.value], given([access.value], v1=value))[access.value]
    assert stored == int.from_bytes(b"".join(words), "big")


@pytest.mark.parametrize("number", [0, 1])
def test_lane_of_a_vector(number: int) -> None:
    """vlgvg r2, v1, number"""
    _, _, register = run(f"e7210{number:03x}3021")
    value = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF
    term = register("r2")
    assert evaluate([term], given([term], v1=value))[term] == lanes(value, 64)[number]


# Which capstone does not know.
TEXTS = {
    "e75630003036": "vlm %v5, %v6, 0(%r3), 3",
    "e74720003c3e": "vstm %v20, %v23, 0(%r2), 3",
    "e71120083006": "vl %v1, 8(%r1, %r2), 3",
    "e6402030280e": "vstbrf %v20, 0x30(%r2)",
    "e6002010300e": "vstbrg %v0, 0x10(%r2)",
    "e61120001003": "vlebrf %v1, 0(%r1, %r2), 1",
    "e61000101806": "vlbrh %v17, 0x10",
    "e6102000f00e": ".byte 0xe6, 0x10, 0x20, 0x00, 0xf0, 0x0e",
}


@pytest.mark.parametrize("code", TEXTS)
def test_texts(code: str) -> None:
    lr = bytes.fromhex("1815")
    data = lr + bytes.fromhex(code) + lr

    def read(address: int, size: int) -> bytes | None:
        offset = address - CODE
        return data[offset : offset + size] if 0 <= offset <= len(data) - size else None

    shown = engine_for(by_name("s390x"), read).disassemble(CODE, len(data))
    assert shown == [(CODE, "lr %r1, %r5"), (CODE + 2, TEXTS[code]), (CODE + 8, "lr %r1, %r5")]


# Of f1 or v1; v2 and r2 are the operands.
WRITES = {
    "ld": ("68102000", True),
    "ldy": ("ed1020000065", True),
    "le": ("78102000", True),
    "ldr": ("2812", True),
    "ldgr": ("b3c10012", True),
    "lzdr": ("b3750010", True),
    "vleg": ("e71020000002", False),
    "vlvgg": ("e71200003022", False),
    "std": ("60102000", False),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_beside_a_floating_point_register_that_is_written(name: str) -> None:
    """It is anything, and may still be what it was."""
    code, undefined = WRITES[name]
    _, _, register = run(code)
    found = {term.name.partition("@")[0] for term in variables([extract(register("v1"), 63, 0)])}
    assert found == ({"init_v1", "undefined"} if undefined else {"init_v1"})


FACILITIES = "s390_host_hwcaps"
"""VEX's variable for the facilities of an s390x host, which it consults to lift."""
ALL_FACILITIES = 0xFFFC0
MODEL = 0x5
"""A model of the processor and no facility."""


@pytest.mark.parametrize("facilities_of_host", [0, MODEL, ALL_FACILITIES])
def test_lifting_does_not_depend_on_the_host(facilities_of_host: int) -> None:
    """For a guest of s390x, all facilities are assumed, whatever the host has."""
    native = ctypes.CDLL(str(Path(pyvex.__file__).parent / "lib" / "libpyvex.so"))
    variable = ctypes.c_uint.in_dll(native, FACILITIES)
    variable.value = facilities_of_host
    vaf = bytes.fromhex("e731200020f3")
    lifted = pyvex.lift(vaf, CODE, archinfo.ArchS390X(archinfo.Endness.BE), opt_level=0)
    assert variable.value == ALL_FACILITIES
    assert "Add32x4" in str(lifted)


def test_other_ways_to_set_the_condition_code_are_not_executed() -> None:
    with pytest.raises(Unsupported, match="0x1000: KeyError"):
        run("a72100031815")  # tmll r2, 3; lr r1, r5


def test_what_an_instruction_left_unfinished_is_forgotten() -> None:
    engine, machine, _ = run("1815")
    code = bytes.fromhex("a72100031815")
    engine = engine_for(
        by_name("s390x"),
        lambda at, size: code[at - CODE :][:size] if at + size <= CODE + 6 else None,
    )
    with pytest.raises(Unsupported):
        engine.run(engine.lift(CODE), machine.copy())
    (successor,) = engine.run(engine.lift(CODE + 4), machine.copy())
    assert successor.machine.instruction == CODE + 4
