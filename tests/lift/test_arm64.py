"""AArch64 instructions against what the Arm Architecture Reference Manual says of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import archinfo
import pytest
import pyvex

from tests.lift.programs import ENTRY, run
from verify.lift.machine import Unsupported
from verify.terms import Linear, Term, evaluate, var, variables

NAMES = "nzcv"
CONDITIONS: tuple[Callable[[int, int, int, int], bool], ...] = (
    lambda n, z, c, v: z == 1,
    lambda n, z, c, v: c == 1,
    lambda n, z, c, v: n == 1,
    lambda n, z, c, v: v == 1,
    lambda n, z, c, v: c == 1 and z == 0,
    lambda n, z, c, v: n == v,
    lambda n, z, c, v: n == v and z == 0,
    lambda n, z, c, v: True,
)
"""By bits 3..1 of a condition; bit 0 negates it, except for the last."""
VALUES = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63 - 1, 2**63, 2**64 - 1)
PAIRS = [(a, b) for a in VALUES for b in VALUES]

Flags = tuple[int, int, int, int]


def holds(condition: int, *flags: int) -> bool:
    negated = condition & 1 and condition >> 1 < len(CONDITIONS) - 1
    return CONDITIONS[condition >> 1](*flags) is not bool(negated)


def signed(value: int, width: int) -> int:
    return value - (value >> width - 1 << width)


def add_with_carry(a: int, b: int, carry: int, width: int) -> Flags:
    """The pseudocode function AddWithCarry: the flags of a + b + carry."""
    total, exact = a + b + carry, signed(a, width) + signed(b, width) + carry
    result = total & (1 << width) - 1
    return (
        result >> width - 1,
        int(result == 0),
        int(result != total),
        int(signed(result, width) != exact),
    )


def added(a: int, b: int, _carry: int, width: int) -> Flags:
    return add_with_carry(a, b, 0, width)


def subtracted(a: int, b: int, _carry: int, width: int) -> Flags:
    return add_with_carry(a, b ^ (1 << width) - 1, 1, width)


def borrowed(a: int, b: int, carry: int, width: int) -> Flags:
    return add_with_carry(a, b ^ (1 << width) - 1, carry, width)


def anded(a: int, b: int, _carry: int, width: int) -> Flags:
    return ((a & b) >> width - 1, int(a & b == 0), 0, 0)


# The encodings with 32-bit registers; bit 31 makes them 64-bit ones. All read x4 and x5.
SETTERS: dict[str, tuple[int, Callable[[int, int, int, int], Flags]]] = {
    "cmn": (0x2B05_009F, added),
    "cmp": (0x6B05_009F, subtracted),
    "tst": (0x6A05_009F, anded),
    "adcs": (0x3A05_0087, add_with_carry),
    "sbcs": (0x7A05_0087, borrowed),
}
CSINC_X6 = 0x9A9F_07E6
"""x6 is 0 where the condition in bits 15..12 holds, else 1."""
MRS_X6_NZCV = 0xD53B_4206
MSR_NZCV_X4 = 0xD51B_4204


def assignment(terms: list[Term], **values: int) -> dict[Term, int]:
    known = {var(f"init_{name}", 64): value for name, value in values.items()}
    return {term: known[term] for term in variables(terms)}


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", SETTERS)
def test_flags_and_conditions(name: str, width: int) -> None:
    word, flags = SETTERS[name]
    word |= (width == 64) << 31
    _, registers = run("arm64", [word, *(CSINC_X6 + n | n << 12 for n in range(16))])
    settled = [registers[flag] for flag in NAMES]
    conditions = [registers[f"x{n}"] for n in range(6, 22)]
    _, moved = run("arm64", [word, MRS_X6_NZCV])
    terms = [*settled, *conditions, moved["x6"]]
    mask = (1 << width) - 1
    for a, b in PAIRS:
        for carry in (0, 1):
            values = evaluate(terms, assignment(terms, x4=a, x5=b, cc_dep1=carry << 29))
            expected = flags(a & mask, b & mask, carry, width)
            assert tuple(values[term] for term in settled) == expected, (a, b, carry)
            for condition, term in enumerate(conditions):
                assert values[term] != holds(condition, *expected), (a, b, carry, condition)
            nzcv = sum(flag << at for flag, at in zip(expected, (31, 30, 29, 28), strict=True))
            assert values[moved["x6"]] == nzcv


@pytest.mark.parametrize("condition", range(16))
@pytest.mark.parametrize("nzcv", range(16))
def test_conditions_of_flags_that_are_written(condition: int, nzcv: int) -> None:
    words = [0xD2A0_0004 | nzcv << 12 + 5, MSR_NZCV_X4, CSINC_X6 | condition << 12]
    _, registers = run("arm64", words)
    flags: Flags = (nzcv >> 3, nzcv >> 2 & 1, nzcv >> 1 & 1, nzcv & 1)
    assert tuple(registers[name].value for name in NAMES) == flags
    assert registers["x6"].value == (not holds(condition, *flags))


def lanes(value: int, width: int) -> list[int]:
    """The lanes of a vector of 128 bits, the least significant first."""
    return [value >> low & (1 << width) - 1 for low in range(0, 128, width)]


def vector(parts: list[int], width: int) -> int:
    return sum(part << width * n for n, part in enumerate(parts))


def each(width: int, compute: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    """Lane by lane from the first source and the destination's old lane."""

    def run(source: int, _other: int, old: int) -> int:
        pairs = zip(lanes(source, width), lanes(old, width), strict=True)
        return vector([compute(a, d) & (1 << width) - 1 for a, d in pairs], width)

    return run


def reversed_in(piece: int, lane: int) -> Callable[[int, int, int], int]:
    def run(source: int, _other: int, _old: int) -> int:
        parts, count = lanes(source, piece), lane // piece
        groups = [parts[n : n + count][::-1] for n in range(0, len(parts), count)]
        return vector([part for group in groups for part in group], piece)

    return run


def added_lanes(width: int) -> Callable[[int, int, int], int]:
    def run(a: int, b: int, _old: int) -> int:
        pairs = zip(lanes(a, width), lanes(b, width), strict=True)
        return vector([x + y & (1 << width) - 1 for x, y in pairs], width)

    return run


# Encodings that read v1 (and v2) and write v0.
VECTORS: dict[str, tuple[int, Callable[[int, int, int], int]]] = {
    "add .4s": (0x4EA2_8420, added_lanes(32)),
    "add d": (0x5EE2_8420, lambda a, b, d: (a + b) & 2**64 - 1),
    "eor": (0x6E22_1C20, lambda a, b, d: a ^ b),
    "mov": (0x4EA1_1C20, lambda a, b, d: a),
    "shl .4s 12": (0x4F2C_5420, each(32, lambda a, d: a << 12)),
    "sri .4s 20": (0x6F2C_4420, each(32, lambda a, d: a >> 20 | d & ~0xFFF)),
    "rev16 .16b": (0x4E20_1820, reversed_in(8, 16)),
    "rev32 .16b": (0x6E20_0820, reversed_in(8, 32)),
    "rev32 .8h": (0x6E60_0820, reversed_in(16, 32)),
    "rev64 .16b": (0x4E20_0820, reversed_in(8, 64)),
    "rev64 .8h": (0x4E60_0820, reversed_in(16, 64)),
    "rev64 .4s": (0x4EA0_0820, reversed_in(32, 64)),
    "rev32 .4h": (0x2E60_0820, lambda a, b, d: reversed_in(16, 32)(a, b, d) & 2**64 - 1),
    "ext #4": (0x6E02_2020, lambda a, b, d: (b << 128 | a) >> 32 & 2**128 - 1),
    "ext #12": (0x6E02_6020, lambda a, b, d: (b << 128 | a) >> 96 & 2**128 - 1),
    "uzp1 .4s": (
        0x4E82_1820,
        lambda a, b, d: vector([*lanes(a, 32)[::2], *lanes(b, 32)[::2]], 32),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    word, compute = VECTORS[name]
    _, registers = run("arm64", [word])
    result = registers["v0"]
    values = random.Random(name)
    for _ in range(20):
        old, a, b = (values.getrandbits(128) for _ in range(3))
        held = {var("init_q0", 128): old, var("init_q1", 128): a, var("init_q2", 128): b}
        given = {term: held[term] for term in variables([result])}
        assert evaluate([result], given)[result] == compute(a, b, old)


LOADS = {
    "ld1 {v0.2s}, [x2]": (0x0C40_7840, ["count"]),
    "ld1 {v0.4s}, [x1]": (0x4C40_7820, ["k0", "k1", "k2", "k3"]),
    "ld1 {v0.4s, v1.4s}, [x1]": (0x4C40_A820, ["k0", "k1", "k2", "k3"]),
    "ld1 {v0.16b}, [x1]": (0x4C40_7020, ["k0", "k1", "k2", "k3"]),
    "ldr s0, [x1]": (0xBD40_0020, ["k0"]),
    "ldr h0, [x1]": (0x7D40_0020, ["k0"]),
    "ldr b0, [x1]": (0x3D40_0020, ["k0"]),
}
"""The lanes, lowest first, that a load fills; the rest is zero."""
WIDTHS = {"ldr h0, [x1]": 16, "ldr b0, [x1]": 8}


@pytest.mark.parametrize("name", LOADS)
def test_loads_clear_the_rest(name: str) -> None:
    word, names = LOADS[name]
    _, registers = run("arm64", [word])
    result = registers["v0"]
    values = random.Random(name)
    parts = [var(one, 64 if one == "count" else 32) for one in names]
    given = {part: values.getrandbits(part.width) for part in parts}
    expected = sum(given[part] << 32 * n for n, part in enumerate(parts))
    expected &= (1 << WIDTHS.get(name, 128)) - 1
    assert evaluate([result], given)[result] == expected


def big(data: bytes, width: int) -> list[int]:
    """The elements of that width in bits that lie in memory, the first one first."""
    size = width // 8
    return [int.from_bytes(data[at : at + size], "big") for at in range(0, len(data), size)]


def spread(width: int, size: int = 16) -> Callable[[bytes], int]:
    """The elements in so many bytes as lanes of a vector."""
    return lambda key: vector(big(key[:size], width), width)


# Encodings that read from x1, where the key is, the register they load, and what is in it.
BIG_LOADS: dict[str, tuple[int, str, Callable[[bytes], int]]] = {
    "ld1 {v0.16b}": (0x4C40_7020, "v0", spread(8)),
    "ld1 {v0.8h}": (0x4C40_7420, "v0", spread(16)),
    "ld1 {v0.4s}": (0x4C40_7820, "v0", spread(32)),
    "ld1 {v0.2d}": (0x4C40_7C20, "v0", spread(64)),
    "ld1 {v0.2s}": (0x0C40_7820, "v0", spread(32, 8)),
    "ld1 {v31.4s, v0.4s}": (0x4C40_A83F, "v0", lambda key: spread(32)(key[16:])),
    "ld1r {v0.4s}": (0x4D40_C820, "v0", lambda key: vector(big(key[:4], 32) * 4, 32)),
    "ldr q0": (0x3DC0_0020, "v0", lambda key: big(key, 128)[0]),
    "ldr d0": (0xFD40_0020, "v0", lambda key: big(key, 64)[0]),
    "ldr s0": (0xBD40_0020, "v0", lambda key: big(key, 32)[0]),
    "ldp q1, q0": (0xAD40_0021, "v0", lambda key: big(key, 128)[1]),
    "ldr x9": (0xF940_0029, "x9", lambda key: big(key, 64)[0]),
    "ldr w9": (0xB940_0029, "x9", lambda key: big(key, 32)[0]),
    "ldrh w9": (0x7940_0029, "x9", lambda key: big(key, 16)[0]),
    "ldp w8, w9": (0x2940_2428, "x9", lambda key: big(key, 32)[1]),
    "ldp x8, x9": (0xA940_2428, "x9", lambda key: big(key, 64)[1]),
}


@pytest.mark.parametrize("name", BIG_LOADS)
def test_loads_of_big_endian_data(name: str) -> None:
    word, register, expected = BIG_LOADS[name]
    _, registers = run("arm64be", [word])
    result = registers[register]
    key = random.Random(name).randbytes(32)
    given = {var(f"k{n}", 32): value for n, value in enumerate(big(key, 32))}
    assert evaluate([result], given)[result] == expected(key)


# Encodings that store v0 or x9 to x0, where dst is, and the bytes there.
BIG_STORES: dict[str, tuple[int, int, Callable[[int], bytes]]] = {
    "st1 {v0.16b}": (0x4C00_7000, 16, lambda v0: v0.to_bytes(16, "little")),
    "st1 {v0.4s}": (
        0x4C00_7800,
        16,
        lambda v0: b"".join(lane.to_bytes(4, "big") for lane in lanes(v0, 32)),
    ),
    "str q0": (0x3D80_0000, 16, lambda v0: v0.to_bytes(16, "big")),
    "str d0": (0xFD00_0000, 8, lambda v0: v0.to_bytes(16, "big")[8:]),
    "st1 {v0.s}[1]": (0x0D00_9000, 4, lambda v0: (v0 >> 32 & 0xFFFF_FFFF).to_bytes(4, "big")),
    "str w9": (0xB900_0009, 4, lambda x9: (x9 & 0xFFFF_FFFF).to_bytes(4, "big")),
}


@pytest.mark.parametrize("name", BIG_STORES)
def test_stores_of_big_endian_data(name: str) -> None:
    word, size, expected = BIG_STORES[name]
    machine, _ = run("arm64be", [word])
    stored = machine.converter.term(machine.memory.region("dst", Linear(64, 0)).read(0, size))
    (register,) = variables([stored])
    value = random.Random(name).getrandbits(register.width)
    assert evaluate([stored], {register: value})[stored].to_bytes(size, "big") == expected(value)


def test_accesses_in_an_unknown_order_are_refused() -> None:
    ldar_x0 = 0xC8DF_FC20
    with pytest.raises(Unsupported, match="8 bytes in a byte order that is not known"):
        run("arm64be", [ldar_x0])


# Encodings, whose base is x1, and offset and size of the access; x5 is an index.
LOADS_INTO_ZERO: dict[str, tuple[int, int, int]] = {
    "ldr xzr, [x1, #8]": (0xF940_043F, 8, 8),
    "ldrsw xzr, [x1, #8]": (0xB980_083F, 8, 4),
    "ldrsb wzr, [x1]": (0x39C0_003F, 0, 1),
    "ldursh xzr, [x1, #-2]": (0x789F_E03F, -2, 2),
    "ldrsw xzr, [x1], #4": (0xB880_443F, 0, 4),
    "ldrsb xzr, [x1, #4]!": (0x3880_4C3F, 4, 1),
    "ldrh wzr, [x1, xzr, lsl #1]": (0x787F_783F, 0, 2),
}


@pytest.mark.parametrize("arch", ["arm64", "arm64be"])
@pytest.mark.parametrize("name", LOADS_INTO_ZERO)
def test_loads_into_the_zero_register_access_memory(name: str, arch: str) -> None:
    word, offset, size = LOADS_INTO_ZERO[name]
    machine, registers = run(arch, [word])
    (access,) = machine.accesses
    assert access.place is not None
    assert (access.kind, access.place.region, access.size) == ("read", "key", size)
    assert access.place.offset == offset
    moved = 4 if name.endswith(("], #4", "!")) else 0
    assert evaluate([registers["x1"]], {var("key", 64): 1000})[registers["x1"]] == 1000 + moved


EXTENDED: dict[str, tuple[int, Callable[[int], int]]] = {
    "uxtw": (0x4, lambda x5: x5 & 0xFFFF_FFFF),
    "lsl": (0x6, lambda x5: x5),
    "sxtw": (0xC, lambda x5: (x5 & 0xFFFF_FFFF) - ((x5 >> 31 & 1) << 32)),
    "sxtx": (0xE, lambda x5: x5),
}


@pytest.mark.parametrize("scaled", [0, 1])
@pytest.mark.parametrize("extension", EXTENDED)
def test_index_of_a_load_into_the_zero_register(extension: str, scaled: int) -> None:
    option, extend = EXTENDED[extension]
    word = 0xF860_0800 | 5 << 16 | option << 12 | scaled << 12 | 4 << 5 | 31
    machine, _ = run("arm64", [word])
    (access,) = machine.accesses
    for x4, x5 in PAIRS:
        given = assignment([access.address], x4=x4, x5=x5)
        expected = x4 + (extend(x5) << 3 * scaled)
        assert evaluate([access.address], given)[access.address] == expected % 2**64


def test_vex_still_drops_loads_into_the_zero_register() -> None:
    """When it does not, the addition can go."""
    for name in ("ldrsw xzr, [x1, #8]", "ldrsb wzr, [x1]", "ldrh wzr, [x1, xzr, lsl #1]"):
        code = LOADS_INTO_ZERO[name][0].to_bytes(4, "little")
        lift: Any = pyvex.lift
        block = lift(code, ENTRY, archinfo.ArchAArch64(), opt_level=0)
        assert "LDle" not in str(block)


def test_floating_point_registers_are_moved_as_bits_and_never_computed_with() -> None:
    stp_d8_d9, ldp_d0_d1, fadd = 0x6D00_2408, 0x6D40_0400, 0x1E61_2800
    _, registers = run("arm64", [stp_d8_d9, ldp_d0_d1])
    for number in (0, 1):
        value = registers[f"v{number}"]
        saved = registers[f"d{number + 8}"]
        given = {v: random.Random(number).getrandbits(128) for v in variables([value, saved])}
        assert evaluate([value], given)[value] == evaluate([saved], given)[saved]
    with pytest.raises(Unsupported, match="floating-point operation Iop_AddF64"):
        run("arm64", [fadd])
