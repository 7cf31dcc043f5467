"""Write docs/mutation.md from the journals of campaigns, which are named on the command line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verify.mutate.journal import Header, read
from verify.mutate.model import Judgement, Operator
from verify.options import PROPERTIES_OF
from verify.verdict import Contract, Verdict

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mutation.md"

HEAD = """\
# Mutation

What gets through the harness if one thing in a correct function is changed? `vdso-verify mutate`
makes such changes to the encoding of a function that is proved, and proves each mutant anew. What
is not proved is executed under QEMU, and is REFUTED only if that shows a property broken.

A mutant that is PROVED is either equivalent, or a hole in the harness. To tell, Bitwuzla compares
it with the function itself, block by block, on PowerPC through the other lifter. Of the states in
which a block begins nothing is known, but at the entry that the regions of the contract do not
overlap, and, where the line says so, values that the function has put into registers before.
Invariants and the specification of ChaCha20 play no part in that.

A scratch register may be left with another value, as long as that gives nothing away. Where it is
no constant, there is no proof of that: it was the same for both keys of each of 64 pairs,
executed under QEMU, and the line says so. Where the comparison has no argument, the line says what
reading the code by hand has shown.

Of a getrandom the function's own code is changed, not the ChaCha20 that it calls. Histories of
calls, and pairs of calls that differ in secrets, are executed first; what departs from the
specification, gives a secret away or is steered by one is REFUTED ([getrandom](getrandom.md)). Of
the others those need no proof of their own that the comparison shows to do the same; there accesses
to all memory but the stack have to be in the same order, and what each loads is anything, since
others use the state. The lifter is that of the proof there, since SLEIGH does not decode `isel`.
The rest is proved, and then executed with an interruption in front of each instruction.

This page is made by `python -m scripts.mutation JOURNAL...` from what the campaigns wrote. Of two
journals on one function the later one replaces what it has judged again (`mutate --open-in`).
"""

BY_HAND = {
    ("arm64", "ld1 {v16.4s, v17.4s, v18.4s, v19.4s}, [x5]"): (
        "v18 is written before it is read, v19 is not read, and the 32 bytes more are the image's"
    ),
    ("s390x", "vlm %v16, %v18, 0(%r1)"): (
        "%v18 is not read, and the 16 bytes more are the image's"
    ),
    ("s390x", "vgbm %v6, 0x400"): "vlvgg overwrites this half of %v6 before it is read",
    ("s390x", "vgbm %v6, 0x4000"): "vlvgg overwrites this half of %v6 before it is read",
    ("x86_64", "movq xmm3, xmm7"): (
        "the upper half of xmm7 is zero: movq has loaded it, and paddq adds xmm9, whose upper half"
        " is zero, too"
    ),
    ("x86_64", "adc rdi, 0x40"): (
        "the carry is clear: sub r8d, 1 at 0x49b set it last, and left zero"
    ),
}
"""Why a mutant does the same, found by reading it, by architecture and instruction; for those that
the comparison does not explain."""

_WHAT = {
    Operator.DELETE: "instruction deleted",
    Operator.SWAP: "two neighbours swapped",
    Operator.REGISTER: "register operand replaced",
    Operator.IMMEDIATE: "one bit of an immediate changed",
    Operator.BRANCH: "branch condition changed",
    Operator.WIDTH: "width of an access changed",
    Operator.SIBLING: "operation replaced by a related one",
}


_POS_AGAIN = (
    "pos is stored again, from a register, before anything reads it: until then in_use is set, so"
    " that a handler falls back, and a zeroed page is not made worse"
)
_HUGE = "it shows in lengths near 2^31 and above only, for which no history has a buffer"
_DATA = "what lies there is no code, and QEMU does not know it as an instruction"
_FAR = "it writes further from the state than the 64 bytes that are looked at"
_SCRATCH = "r0 is written before it is read, and holds the return address at the end"
_LOW_BYTE = "the low byte is the same, and no more of it is used"
_POSITIVE = "both are positive: at most 96, and below 2^31"
GETRANDOM_BY_HAND: dict[tuple[str, int, str], str] = {
    ("loongarch64", 0x3B8, "beqz a0, 0x3cc"): (
        "what is left out clears the upper half of flags, which are below 8 here"
    ),
    ("loongarch64", 0x4A0, "nop"): "a1 holds 32 already, and a system call keeps it",
    ("loongarch64", 0x4DC, "nop"): _POS_AGAIN,
    ("loongarch64", 0x4DC, "st.b fp, fp(0x88)"): _POS_AGAIN,
    ("loongarch64", 0x4E8, "slt a3, a1, s3"): _POSITIVE,
    ("loongarch64", 0x514, "st.b zero, a2(0x0); st.b a5, a4(0x0)"): (
        "the byte has been loaded, and it is not specified whether it goes to the buffer or is"
        " erased first"
    ),
    ("loongarch64", 0x538, "beqz s3, 0x250"): _DATA,
    **{
        ("loongarch64", at, after): _HUGE
        for at, after in (
            (0x420, "lu12i.w a0, 0x7ffdc000"),
            (0x420, "lu12i.w a0, 0x7fdfc000"),
            (0x420, "lu12i.w a0, -0x4000"),
            (0x420, "pcaddu12i a0, 0x7fffc420"),
            (0x424, "nop"),
            (0x424, "slt a1, s1, a0"),
        )
    },
    ("powerpc64le", 0x338, "cmpdi cr5, r29, 0"): "a caller extends flags by zeros",
    ("powerpc64le", 0x464, "b 0x210"): _DATA,
    ("powerpc64le", 0x464, "b 0x10"): _DATA,
    ("powerpc64le", 0x468, "lis r0, 0x7fff"): (
        "it shows from a length of 61441 on; histories go to 16439"
    ),
    ("powerpc64le", 0x468, "lis r3, 0x7fbf"): _HUGE,
    ("powerpc64le", 0x468, "lis r3, 0x7bff"): _HUGE,
    ("powerpc64le", 0x46C, "mulli r21, r0, 0"): "it is 0 as well",
    ("powerpc64le", 0x47C, "nop"): _POS_AGAIN,
    ("powerpc64le", 0x47C, "li r19, 0x70"): _POS_AGAIN,
    ("powerpc64le", 0x47C, "li r19, 0x2060"): _LOW_BYTE,
    ("powerpc64le", 0x47C, "lis r19, 0x60"): _POS_AGAIN,
    ("powerpc64le", 0x484, "ori r3, r3, 0xf010"): _HUGE,
    ("powerpc64le", 0x4E0, "nop"): (
        "whether a barrier is missing is not looked at: the caveat `barriers-order-only`"
    ),
    ("powerpc64le", 0x500, "li r3, -0x7fa0"): _LOW_BYTE,
    ("powerpc64le", 0x528, "stb r21, 0x88(r3)"): _FAR,
    ("powerpc64le", 0x528, "stb r21, 0x488(r30)"): _FAR,
    ("powerpc64le", 0x528, "stb r21, 0x2088(r30)"): _FAR,
    ("powerpc64le", 0x52C, "li r3, 0x800"): _LOW_BYTE,
    ("powerpc64le", 0x538, "cmpw r4, r18"): _POSITIVE,
    ("powerpc64le", 0x540, "cmplwi r4, 0"): "it is at most 96",
    ("powerpc64le", 0x56C, "bdnz 0x55c"): "at 0x55c is a nop",
    ("powerpc64le", 0x580, "addc r22, r22, r4"): "nothing reads the carry",
    ("powerpc64le", 0x5AC, "b 0x110"): _DATA,
    ("powerpc64le", 0x5C0, "b 0x10"): _DATA,
    **{
        ("powerpc64le", at, after): _SCRATCH
        for at, after in (
            (0x524, "ori r0, r0, 1"),
            (0x524, "ori r0, r0, 0x200"),
            (0x554, "ori r0, r0, 2"),
            (0x554, "ori r0, r0, 0x4000"),
            (0x558, "ori r0, r0, 0x10"),
            (0x558, "ori r0, r0, 0x800"),
            (0x558, "ori r0, r0, 0x2000"),
            (0x55C, "ori r0, r0, 0x20"),
            (0x59C, "ori r0, r0, 2"),
            (0x59C, "ori r0, r0, 4"),
            (0x59C, "ori r0, r24, 0"),
        )
    },
}
"""What reading has shown of a mutant of a getrandom, by architecture, address and instruction."""


def page(journals: Iterable[tuple[Header, tuple[Judgement, ...]]]) -> str:
    """The page as Markdown."""
    campaigns = by_function(journals)
    return "\n".join([HEAD, *(line for one in campaigns for line in _campaign(one)), ""])


@dataclass(frozen=True)
class Campaign:
    """All judgements on one function; `again` are the harnesses that judged some anew, with the ids
    of those."""

    header: Header
    judged: tuple[Judgement, ...]
    again: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def amended(self, header: Header, judged: Sequence[Judgement]) -> Campaign:
        """With other judgements in place of those on the same mutants."""
        new = {one.mutant.id: one for one in judged}
        return Campaign(
            self.header,
            tuple(new.get(one.mutant.id, one) for one in self.judged),
            {**self.again, header.harness: self.again.get(header.harness, frozenset()).union(new)},
        )


def by_function(journals: Iterable[tuple[Header, tuple[Judgement, ...]]]) -> list[Campaign]:
    """The journals' campaigns, later judgements in place of earlier ones."""
    found: dict[tuple[str, str], Campaign] = {}
    for header, judged in journals:
        # A getrandom's function may be little more than a call of what is mutated.
        key = header.contract, header.function_sha256
        before = found.get(key)
        campaign = before.amended(header, judged) if before else Campaign(header, judged)
        found[key] = campaign
    return list(found.values())


def _campaign(campaign: Campaign) -> Iterator[str]:
    header, judged = campaign.header, campaign.judged
    chosen = "all" if header.selected == header.made else f"{header.selected} (seed {header.seed})"
    yield f"\n## {header.architecture}/{header.source}\n"
    yield f"- function: SHA-256 {header.function_sha256}"
    yield f"- harness: {header.harness}"
    for harness, mutants in campaign.again.items():
        yield f"- {len(mutants)} that this left open are judged by another harness: {harness}"
    yield f"- mutants: {chosen} of {header.made}; judged: {len(judged)}"
    yield f"- time: {_median(judged):.2f} s in the median on one core\n"
    yield from _operators(judged)
    yield from _properties(Contract(header.contract), judged)
    yield from _unknown(header, judged)
    yield from _survivors(header, judged)


def _median(judged: Sequence[Judgement]) -> float:
    times = sorted(one.seconds for one in judged)
    return times[len(times) // 2] if times else 0.0


def _operators(judged: Sequence[Judgement]) -> Iterator[str]:
    yield "| change | mutants | REFUTED | equivalent | UNKNOWN | PROVED, no argument | score |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for operator in Operator:
        mine = [one for one in judged if one.mutant.operator is operator]
        if mine:
            yield _row(_WHAT[operator], mine)
    yield _row("all", judged)
    yield "\nThe score is the share of REFUTED among the mutants that are not equivalent.\n"


def _row(what: str, mine: Sequence[Judgement]) -> str:
    refuted = sum(one.verdict is Verdict.REFUTED for one in mine)
    equivalent = sum(bool(one.equivalent) for one in mine)
    holes = sum(one.hole for one in mine)
    unknown = len(mine) - refuted - equivalent - holes
    others = len(mine) - equivalent
    score = f"{100 * refuted / others:.1f} %" if others else ""
    return f"| {what} | {len(mine)} | {refuted} | {equivalent} | {unknown} | {holes} | {score} |"


def _properties(contract: Contract, judged: Sequence[Judgement]) -> Iterator[str]:
    count = Counter(one.refuted_by for one in judged if one.verdict is Verdict.REFUTED)
    yield "| refuted by | mutants |"
    yield "| --- | ---: |"
    for name in dict.fromkeys((*PROPERTIES_OF[contract], *sorted(count))):
        yield f"| `{name}` | {count[name]} |"
    if contract is Contract.CHACHA20:
        yield "\nThe first property that is not proved and is seen broken counts.\n"
    else:
        yield "\nThe first property that is seen broken counts.\n"


def _unknown(header: Header, judged: Sequence[Judgement]) -> Iterator[str]:
    found = [one for one in judged if one.open]
    if found:
        yield "### UNKNOWN\n"
        yield "| address | function | mutant | why |"
        yield "| --- | --- | --- | --- |"
        for one in found:
            read = _read(header, one)
            yield _line(one, f"{one.reason}; read by hand: {read}" if read else one.reason)
        yield ""


def _read(header: Header, one: Judgement) -> str:
    """What reading the code has shown, if it has been read."""
    if header.contract == Contract.CHACHA20.value:
        return BY_HAND.get((header.architecture, one.after), "")
    return GETRANDOM_BY_HAND.get((header.architecture, one.mutant.address, one.after), "")


def _by_hand(header: Header, one: Judgement) -> str:
    found = _read(header, one)
    return f"read by hand: {found}" if found else "**not explained**"


def _survivors(header: Header, judged: Sequence[Judgement]) -> Iterator[str]:
    proved = [one for one in judged if one.verdict is Verdict.PROVED]
    others = [one for one in judged if one.equivalent and one.verdict is not Verdict.PROVED]
    for title, found in (("PROVED", proved), ("Not proved, but equivalent", others)):
        if found:
            yield f"### {title}\n"
            yield "| address | function | mutant | why that is no hole |"
            yield "| --- | --- | --- | --- |"
            yield from (_line(one, one.equivalent or _by_hand(header, one)) for one in found)
            if others:
                yield ""


def _line(one: Judgement, why: str) -> str:
    cells = (f"{one.mutant.address:#x}", f"`{one.before}`", f"`{one.after}`", why)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page([read(Path(name)) for name in sys.argv[1:]]))
