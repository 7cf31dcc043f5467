"""What is proved of a compiled getrandom, property by property."""

from __future__ import annotations

import time
from collections.abc import Iterable

from verify.getrandom.attempts import Attempts
from verify.getrandom.claims import TITLES, Claim
from verify.getrandom.compare import Difference, differences
from verify.getrandom.paths import Walker
from verify.getrandom.questions import Questions
from verify.getrandom.setting import BASE, Layout, Setting, setting_of
from verify.lift.machine import Unsupported
from verify.target import Target
from verify.terms import Term
from verify.verdict import Caveat, PropertyResult, Verdict

NOT_DECIDED = (
    "fork",
    "footprint",
    "secrecy",
    "stack",
    "termination",
    "timing",
)
"""Properties of the ChaCha20 inside, and of a state that changes at any instruction, of which this
proof says nothing for the whole function."""

CAVEATS = (
    Caveat.LIFTER_UNCHECKED,
    Caveat.REGIONS_DISJOINT,
    Caveat.SOLVER_TRUSTED,
    Caveat.CHACHA20_BY_CONTRACT,
    Caveat.KERNEL_BY_CONTRACT,
    Caveat.BARRIERS_ORDER_ONLY,
    Caveat.UNDISTURBED,
    Caveat.DATA_PAGE_GIVEN,
)
"""What every verdict rests on: SOUNDNESS.md."""


def prove_getrandom(
    target: Target, entry: int, layout: Layout | None = None, more: Iterable[Term] = ()
) -> tuple[PropertyResult, ...]:
    """A verdict for each property of the getrandom at `entry` in the target's image.

    The target's function is the ChaCha20 that it calls. `layout` is that of the architecture's
    kernels by default. `more` are assumptions on the arguments on top of what a caller grants,
    under which the verdicts hold then.
    """
    start = time.perf_counter()
    found: dict[Claim, str] = {}
    try:
        for difference in _differences(target, entry, layout, tuple(more)):
            for claim in difference.claims:
                found.setdefault(claim, difference.reason)
    except Unsupported as error:
        for claim in Claim:
            found.setdefault(claim, error.reason)
    seconds = time.perf_counter() - start
    return tuple(
        PropertyResult(
            claim.value,
            TITLES[claim],
            Verdict.UNKNOWN if claim in found else Verdict.PROVED,
            seconds,
            reason=found.get(claim, ""),
        )
        for claim in Claim
    )


def _differences(
    target: Target, entry: int, layout: Layout | None, more: tuple[Term, ...]
) -> Iterable[Difference]:
    port = target.architecture.getrandom_port
    if port is None:
        raise Unsupported(0, f"getrandom on {target.architecture.title} is not supported")
    if target.unusable:
        raise Unsupported(0, target.unusable)
    if target.patching_unknown:
        raise Unsupported(0, target.patching_unknown)
    if target.relocations:
        raise Unsupported(0, "the image has relocations that are not resolved")
    layout = layout or Layout(port.page_bytes, port.data_page)
    try:
        setting = setting_of(target, entry, layout, port)
        _check_final(setting)
        questions = Questions()
        parts = Attempts(Walker(setting, questions)).parts(more)
        if not parts[0].returned or not questions.shown_possible(parts[0].start.facts):
            raise Unsupported(setting.entry, "no call is shown to return")
        for number, part in enumerate(parts):
            yield from differences(setting, part, questions, again=number > 0)
    except Unsupported as error:
        at = error.address - BASE if error.address else 0
        raise Unsupported(at, f"{at:#x}: {error.reason}" if at else error.reason) from error


def _check_final(setting: Setting) -> None:
    """The code is what runs; raises Unsupported where the kernel changes it at boot."""
    for block in setting.flow.blocks.values():
        for one in setting.target.alternatives:
            if one.overlaps(block.address, block.size):
                raise Unsupported(block.address, "the kernel may change this code when it boots")
