"""Getrandoms of LoongArch that touch, leave behind or are steered by what they must not, or last.

It shows where `FEW` calls are let through, or what an adversary says.
"""

from __future__ import annotations

from tests.getrandom.adversaries import Adversary
from verify.getrandom.claims import Claim
from verify.terms import const, equal, var

_LOOP = "\tfor (word i = 0; i < count; i++) {\n\t\tto[i] = state->batch[pos + i];\n"
_DONE = "\t\tif (size == 0)\n\t\t\treturn;\n"
_RETRY = "attempt++) {\n"
_FREE = "\t\tif (!ONCE(state->in_use) && serve(rng, state, buffer, size))\n"
_LAST = "state->batch[BATCH - 1]"
"""A byte that is not given out by the calls that are let through: it is of the new batch."""


def _assembly(text: str) -> str:
    """Instructions that find the state in operand 0, and change t5 and t6."""
    return f'__asm__ volatile("{text}" : : "r"(state) : "$t5", "$t6", "memory");'


def _ending(
    name: str, claim: Claim, statement: str, also: tuple[tuple[str, str], ...] = ()
) -> Adversary:
    """It executes a statement when an attempt has filled the buffer, in front of `_DONE`."""
    filled = f"\t\tif (size == 0) {{\n\t\t\t{statement}\n\t\t\treturn;\n\t\t}}\n"
    return Adversary(name, claim, _DONE, filled, also)


LEAVING = (
    _ending("byte-spilled", Claim.STACK, f"volatile u8 spilled = {_LAST}; (void)spilled;"),
    _ending("byte-in-a-register", Claim.SECRECY, _assembly("ld.bu $t5, %0, 95")),
    _ending(
        "byte-in-a-vector-register",
        Claim.SECRECY,
        _assembly("ld.bu $t5, %0, 95; movgr2fr.d $f7, $t5; move $t5, $zero"),
    ),
    _ending(
        "bit-in-a-register", Claim.SECRECY, _assembly("ld.bu $t5, %0, 95; sltui $t5, $t5, 128")
    ),
    _ending("byte-in-a-register-at-a-call", Claim.STACK, _assembly("ld.bu $t5, %0, 95")),
)
"""They leave a byte behind that is not given out, or what follows from it; the last one where a
second attempt calls ChaCha20, which may save registers on the stack."""

STEERED = (
    _ending(
        "branch-on-a-byte",
        Claim.TIMING,
        _assembly("ld.bu $t5, %0, 95; beqz $t5, 1f; move $t5, $zero; 1: nop"),
    ),
    _ending(
        "looked-up-by-a-byte",
        Claim.TIMING,
        f"(void)*(volatile u8 *)&state->batch[64 + ({_LAST} & 15)];",
    ),
    Adversary(
        "byte-before-multiplied",
        Claim.TIMING,
        _LOOP,
        "\tword before = 0;\n\n\tfor (word i = 0; i < count; i++) {\n"
        '\t\t__asm__ volatile("mul.d $t6, %0, %0" : : "r"(before) : "$t6");\n'
        "\t\tbefore = state->batch[pos + i];\n\t\tto[i] = before;\n",
    ),
    _ending(
        "byte-multiplied",
        Claim.TIMING,
        _assembly("ld.bu $t5, %0, 95; mul.d $t5, $t5, $t5; move $t5, $zero"),
    ),
    _ending("branch-on-what-a-call-left", Claim.TIMING, _assembly("beqz $t8, 1f; nop; 1: nop")),
    Adversary(
        "branch-on-what-nobody-set",
        Claim.TIMING,
        "\tstruct state *state = opaque_state;\n",
        "\tstruct state *state = opaque_state;\n\n"
        '\t__asm__ volatile("beqz $t8, 1f; nop; 1: nop");\n',
    ),
    _ending(
        "branch-on-a-byte-of-the-first-attempt",
        Claim.TIMING,
        _assembly("ld.bu $t5, %0, 95"),
        (
            (
                "\tint served = 0;\n",
                '\tint served = 0;\n\n\t__asm__ volatile("move $t5, $zero");\n',
            ),
            (_RETRY, _RETRY + '\t\t__asm__ volatile("beqz $t5, 1f; nop; 1: nop");\n'),
        ),
    ),
)
"""What they do, and how long it takes, depends on a byte of the batch, or on what nobody set."""

_HIDDEN = '__asm__ volatile("" : "+r"(both));'
BESIDE = _ending(
    "pos-beside-a-byte",
    Claim.TIMING,
    f"u32 both = (u32){_LAST} << 8 | (u8)(state->pos - 1); {_HIDDEN} state->pos = both + 1;",
)
"""Breaks nothing: it computes pos in a register beside a byte of the batch, and stores only pos, so
that the byte does not steer the next attempt."""
CARRIED = _ending(
    "pos-with-a-carry-from-a-byte",
    Claim.TIMING,
    f"u32 both = (u32)state->pos << 8 | {_LAST}; {_HIDDEN} state->pos = (both + 255) >> 8;",
)
"""The same with the byte where a carry into pos comes from: it steers the next attempt."""

ASTRAY = (
    _ending("written-behind-the-amount", Claim.FOOTPRINT, f"to[0] = {_LAST};"),
    _ending("padding-of-the-state-written", Claim.FOOTPRINT, "((volatile u8 *)state)[140] = 0;"),
    Adversary(
        "state-written-that-is-in-use",
        Claim.FOOTPRINT,
        _FREE,
        "\t\tu8 busy = ONCE(state->in_use);\n\n\t\tif (busy)\n\t\t\tONCE(state->pos) = 0;\n"
        "\t\tif (!busy && serve(rng, state, buffer, size))\n",
    ),
    Adversary(
        "state-read-of-another-size",
        Claim.FOOTPRINT,
        "\tif ((flags & ~KNOWN_FLAGS) == 0 &&",
        "\tif (ONCE(state->pos) <= BATCH && (flags & ~KNOWN_FLAGS) == 0 &&",
    ),
    Adversary(
        "more-than-the-parameters",
        Claim.FOOTPRINT,
        "\t\tparameters->reserved[i] = 0;\n",
        "\t\tparameters->reserved[i] = 0;\n\t((volatile u32 *)parameters)[16] = 0;\n",
        under=(equal(var("len", 64), const(0, 64)),),
    ),
    Adversary(
        "state-read-by-the-query",
        Claim.FOOTPRINT,
        "\t\tparameters->reserved[i] = 0;\n",
        "\t\tparameters->reserved[i] = 0;\n\t(void)((const volatile u8 *)parameters)[137];\n",
        under=(equal(var("len", 64), const(0, 64)),),
    ),
    Adversary(
        "more-of-the-data-page",
        Claim.FOOTPRINT,
        _FREE,
        "\t\t(void)((const volatile u8 *)rng)[9];\n" + _FREE,
    ),
    _ending(
        "callers-frame-read", Claim.FOOTPRINT, _assembly("ld.d $t5, $sp, 1024; move $t5, $zero")
    ),
    _ending("below-the-frame", Claim.FOOTPRINT, _assembly("st.d $zero, $sp, -64")),
)
"""They access what is not theirs."""

LASTING = (
    Adversary(
        "endless-for-one-length",
        Claim.TERMINATION,
        _DONE,
        '\t\twhile (size == 203)\n\t\t\t__asm__ volatile("");\n' + _DONE,
    ),
    Adversary(
        "counted-far",
        Claim.TERMINATION,
        _DONE,
        '\t\tfor (word i = 0; i < size << 20; i++)\n\t\t\t__asm__ volatile("");\n' + _DONE,
    ),
    Adversary(
        "third-attempt-that-may-be-the-last",
        Claim.TERMINATION,
        "attempt < ATTEMPTS && !served",
        "attempt < ATTEMPTS + (size == 199) && !served",
    ),
)
"""They are not shown to end."""

TROUBLE = (*LEAVING, *STEERED, CARRIED, *ASTRAY, *LASTING)

BAD = _ending(
    "bad",
    Claim.STACK,
    f"volatile u8 spilled = {_LAST}; (void)spilled; "
    + _assembly("ld.bu $t5, %0, 95; mul.d $t6, $t5, $t5; ld.d $t6, $sp, 1024"),
)
"""It breaks footprint, timing, stack and secrecy at once, and nothing else."""
