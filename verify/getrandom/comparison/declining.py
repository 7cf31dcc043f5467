"""Code that serves no call, for processors that lack what ChaCha20 needs.

The kernel takes a branch in it away where the processor has that. Only code with such a branch may
decline all calls: a getrandom that always falls back is not what the specification says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verify.arch import Architecture
from verify.getrandom.claims import Claim, Difference, Note
from verify.getrandom.comparison.compare import differences
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.attempts import Part
from verify.getrandom.walk.events import SystemCall
from verify.getrandom.walk.setting import Setting
from verify.target import Alternative, Target

_DECLINES = "serves no call: the query returns -ENOSYS, and the kernel answers every other call"


def may_decline(setting: Setting) -> bool:
    """Whether the kernel, on other processors, puts nops in place of code that is reached."""
    return nothing_elsewhere(
        setting.target,
        ((block.address, block.size) for block in setting.flow.blocks.values()),
    )


def nothing_elsewhere(target: Target, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether the kernel, on other processors than those of this variant, puts nops in place of
    some of the code in ranges of (address, bytes)."""
    nops = [one for one in target.left_out if _does_nothing(target.architecture, one)]
    return any(one.overlaps(*range_) for range_ in ranges for one in nops)


def _does_nothing(architecture: Architecture, one: Alternative) -> bool:
    patching = architecture.patching
    code, nops = one.code, () if patching is None else patching.nops
    while code and (nop := next((nop for nop in nops if code.startswith(nop)), b"")):
        code = code[len(nop) :]
    return not code


def declines_all(part: Part) -> bool:
    """Whether no call looks at the state or at the kernel's data."""
    paths = (*part.returned, *part.back)
    return all(isinstance(event, SystemCall) for path in paths for event in path.events)


def declined(setting: Setting, part: Part, questions: Questions) -> Iterator[Difference | Note]:
    """Everything in which the paths were not shown to decline the call, and that they do."""
    for claim in (Claim.PARAMS, Claim.FALLBACK):
        yield Note(claim, _DECLINES)
    yield from differences(setting, part, questions, again=False, declines=True)
