"""Getrandoms that are wrong in one case among very many, and the property that each breaks.

The case is one of those that `FEW` lets through.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binaries.build import build
from binaries.patches import Edit, Fault
from binaries.products import complete
from tests.history.programs import BUILDS
from verify.arch.kerneldata import Layout
from verify.batch import targets_in
from verify.getrandom.claims import Claim
from verify.getrandom.walk.setting import Setting, setting_of
from verify.image import open_images
from verify.target import Target
from verify.terms import Term, const, unsigned_less_equal, var

if TYPE_CHECKING:
    from pathlib import Path


def few(bits: int = 64) -> tuple[Term, ...]:
    """Few lengths, with that many bits, and positions, all of which need the batch, blocks and a
    refill: a proof for these takes seconds."""
    length, pos = var("len", bits), var("pos[0:1]", 8)
    return (
        unsigned_less_equal(const(198, bits), length),
        unsigned_less_equal(length, const(205, bits)),
        unsigned_less_equal(const(92, 8), pos),
    )


FEW = few()

_TAKEN = """\
	for (word i = 0; i < count; i++) {
		to[i] = state->batch[pos + i];
		state->batch[pos + i] = 0;
	}
"""
_TAKEN_IN_WORDS = """\
	typedef u64 wide __attribute__((may_alias, aligned(1)));
	typedef u32 half __attribute__((may_alias, aligned(1)));
	u8 *from = state->batch + pos;
	word i = 0;

	for (; i + 8 <= count; i += 8) {
		*(wide *)(to + i) = *(wide *)(from + i);
		*(wide *)(from + i) = 0;
	}
	if (count & 4) {
		*(half *)(to + i) = *(half *)(from + i);
		*(half *)(from + i) = 0;
		i += 4;
	}
	for (; i < count; i++) {
		to[i] = from[i];
		from[i] = 0;
	}
"""
_CHECKED = "\t\tserved = ONCE(state->generation) == ONCE(rng->generation);\n"
_WORDS_CHECKED = """\
		u32 *ours = (u32 *)&state->generation, *theirs = (u32 *)&rng->generation;

		served = ONCE(ours[0]) == ONCE(theirs[0]);
		served &= ONCE(ours[1]) == ONCE(theirs[1]);
"""
_COPY = "\t\tto[i] = state->batch[pos + i];\n"
_ERASE = "\t\tstate->batch[pos + i] = 0;\n"
_POS_STORED = "\tstate->pos = pos + count;\n"
_SERVE = "\t\tgenerate(state, to, size, counter);\n\t\tBARRIER();\n"
_CHECK = "\t\tserved = ONCE(state->generation) == ONCE(rng->generation);\n"
_READ = "\t\tu64 current = ONCE(rng->generation);\n"
_COMPARED = "\t\tserved = current == ONCE(state->generation);\n"


@dataclass(frozen=True)
class Adversary:
    """The complete getrandom with one text of its source replaced, or several. It shows under these
    assumptions, too."""

    name: str
    breaks: Claim
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()
    under: tuple[Term, ...] = FEW

    def path(self, directory: Path, architecture: str) -> Path:
        """Built there."""
        edits = tuple(Edit(*pair) for pair in ((self.old, self.new), *self.also))
        broken = (self.breaks.value,)
        fault = Fault(
            self.name, architecture, "getrandom", broken, self.name, edits, file="getrandom.c"
        )
        return built(fault, directory)


def built(fault: Fault, directory: Path) -> Path:
    """The complete getrandom with a fault, built in a directory."""
    architecture = BUILDS[fault.architecture]
    assert architecture.getrandom is not None
    product = complete(architecture, architecture.getrandom, "getrandom", fault.path, fault)
    path = directory / f"{fault.name}.so"
    path.write_bytes(build(product))
    return path


def target_in(path: Path) -> Target:
    """The only target of a file."""
    (target,) = targets_in(str(path), None)
    assert isinstance(target, Target)
    return target


def entry_of(path: Path) -> int:
    """The address of the getrandom in a file."""
    (image,) = open_images(path)
    assert image.elf.getrandom is not None
    return image.elf.getrandom.address


def setting_in(path: Path) -> Setting:
    """The setting of the only target of a file, as in its architecture's kernels."""
    target = target_in(path)
    port = target.architecture.getrandom_port
    assert port is not None
    return setting_of(target, entry_of(path), Layout(port.page_bytes, port.data_page), port)


OTHER_ORDER = Adversary(
    "checked-in-other-order", Claim.GENERATION, _SERVE + _CHECK, _SERVE + _READ + _COMPARED
)
"""None, in fact: the two reads of the check may come in either order."""

ADVERSARIES = (
    Adversary(
        "byte-taken-twice",
        Claim.STREAM,
        _COPY,
        "\t\tto[i] = state->batch[pos + i - (i == 3)];\n",
    ),
    Adversary(
        "byte-left", Claim.ERASURE, _ERASE, "\t\tif (i != 5)\n\t\t\tstate->batch[pos + i] = 0;\n"
    ),
    Adversary(
        "pos-too-far-once",
        Claim.ERASURE,
        _POS_STORED,
        "\tstate->pos = pos + count + (size == 9);\n",
    ),
    Adversary(
        "written-in-the-wrong-order",
        Claim.STREAM,
        _COPY,
        "\t\tto[count - 1 - i] = state->batch[pos + i];\n",
    ),
    Adversary(
        "block-left-out",
        Claim.STREAM,
        "\t\tcount = size / BLOCK;\n",
        "\t\tcounter[0] += size == 203;\n\t\tcount = size / BLOCK;\n",
    ),
    Adversary(
        "third-attempt",
        Claim.FALLBACK,
        "attempt < ATTEMPTS && !served",
        "attempt < ATTEMPTS + (size == 199) && !served",
    ),
    Adversary(
        "size-changed",
        Claim.STREAM,
        "\t\t\treturn size;\n",
        "\t\t\treturn size - (size == 204);\n",
    ),
    Adversary(
        "state-used-behind-release",
        Claim.REENTRY,
        "\tONCE(state->in_use) = 0;\n\treturn served;\n",
        "\tONCE(state->in_use) = 0;\n\tif (size == 200)\n\t\tstate->pos = ONCE(state->pos);\n"
        "\treturn served;\n",
    ),
    Adversary(
        "pos-stored-behind-the-check",
        Claim.ERASURE,
        _SERVE + _CHECK,
        f"{_SERVE}\t\tu8 pos = state->pos;\n\n\t\tstate->pos = 0;\n\t\tBARRIER();\n{_CHECK}"
        "\t\tBARRIER();\n\t\tstate->pos = pos;\n",
    ),
    Adversary("checked-too-early", Claim.GENERATION, _SERVE + _CHECK, _READ + _SERVE + _COMPARED),
)


IN_WORDS = Adversary("in-words", Claim.STREAM, _TAKEN, _TAKEN_IN_WORDS)
"""Breaks nothing: bytes are moved in words of different sizes."""
WORD_FROM_ELSEWHERE = replace(
    IN_WORDS,
    name="word-from-elsewhere",
    new=_TAKEN_IN_WORDS.replace("= *(half *)(from + i);", "= *(half *)(from + i - (i == 40));"),
)
HALF_WORD_LEFT = replace(
    IN_WORDS,
    name="half-word-left",
    breaks=Claim.ERASURE,
    new=_TAKEN_IN_WORDS.replace("*(half *)(from + i) = 0;", "*(unsigned short *)(from + i) = 0;"),
)
_TAKEN_UNLESS_MET = """\
	word other = 3, i = 0;

	if (count != 0)
		do {
			if (i == (other & 3))
				break;
			to[i] = state->batch[pos + i];
			state->batch[pos + i] = 0;
			other ^= 1;
			__asm__ volatile("" : "+r"(other));
			i++;
		} while (i != count);
	word far = i > 4;
	for (; i < count; i++) {
		to[i] = state->batch[pos + i];
		state->batch[pos + i] = 0;
	}
"""
BOUND_THAT_MOVES = Adversary(
    "bound-that-moves",
    Claim.ERASURE,
    _TAKEN,
    _TAKEN_UNLESS_MET,
    ((_POS_STORED, "\tstate->pos = pos + count + far;\n"),),
)
"""Its loop would end after 4 iterations if the other number did not change; but that is odd where
the number of the iteration is even."""
WORDS_CHECKED = Adversary(
    "words-of-generations-in-turn", Claim.GENERATION, _CHECKED, _WORDS_CHECKED
)
"""Is right only if each access finds the same generation as the one before it."""
