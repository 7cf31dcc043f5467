"""What is proved of a compiled getrandom, property by property.

The paths are walked first, those of a zeroed page meanwhile if there are several processes. What is
left, comparing some of them with the specification, is a task; tasks can be done at once, and what
comes of one is plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import batched, count, groupby

from verify.arch.kerneldata import Layout
from verify.decide import start_afresh
from verify.forked import Tell, WorkerError, beside, forked
from verify.getrandom.claims import COMPARED, RESTS_ON, TITLES, Claim, Difference, Note
from verify.getrandom.comparison.compare import differences
from verify.getrandom.comparison.declining import declined, declines_all, may_decline
from verify.getrandom.disturbed import Undisturbed, undisturbed
from verify.getrandom.fork import disturbed_differences, early_differences
from verify.getrandom.properties import footprint, secrecy, stack, termination, timing
from verify.getrandom.properties.model import Walk, walk_of
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.attempts import Attempts, Part
from verify.getrandom.walk.mapped import base_of
from verify.getrandom.walk.paths import Path, Walker
from verify.getrandom.walk.setting import Setting, setting_of
from verify.lift.machine import Unsupported
from verify.options import PROPERTIES_OF, Options
from verify.progress import Progress, Report
from verify.prove.hints import refuse_hints
from verify.target import Target
from verify.terms import Term
from verify.verdict import Caveat, Check, Contract, PropertyResult, Verdict, together

CAVEATS = (
    Caveat.LIFTER_UNCHECKED,
    Caveat.REGIONS_DISJOINT,
    Caveat.SOLVER_TRUSTED,
    Caveat.CHACHA20_BY_CONTRACT,
    Caveat.KERNEL_BY_CONTRACT,
    Caveat.BARRIERS_ORDER_ONLY,
    Caveat.UNDISTURBED,
    Caveat.ZEROED_AT_ONCE,
    Caveat.ZEROED_OR_INTERRUPTED,
    Caveat.CHACHA20_ZEROED,
    Caveat.DATA_PAGE_GIVEN,
)
"""What every verdict rests on: SOUNDNESS.md."""
CAVEATS_OF_32_BITS = (Caveat.GENERATION_IN_ONE_WORD,)
"""What it rests on besides where a generation does not fit into a register."""

DEFAULT = Options(PROPERTIES_OF[Contract.GETRANDOM], contract=Contract.GETRANDOM)
"""Every property, one task at a time."""
_DECIDED: Mapping[Claim, Callable[[Walk], Iterable[Difference | Note]]] = {
    Claim.FOOTPRINT: footprint.found,
    Claim.TERMINATION: termination.found,
    Claim.TIMING: timing.found,
    Claim.STACK: stack.found,
    Claim.SECRECY: secrecy.found,
}
"""What decides the properties that a comparison does not."""
_TOGETHER = 8
"""Paths that are compared by one task."""


@dataclass(frozen=True)
class _Task:
    """Something to do that may find differences, and notes; raises Unsupported. `what` says in a
    few words what is looked at, `claims` which properties it decides, `paths` at how many paths it
    looks, `base` where the image is read."""

    what: str
    claims: frozenset[Claim]
    paths: int
    base: int
    run: Callable[[], Iterable[Difference | Note]]


@dataclass(frozen=True)
class _Found:
    """What came of a task."""

    differences: tuple[Difference, ...]
    notes: tuple[Note, ...]
    seconds: float


def prove_getrandom(
    target: Target,
    entry: int,
    layout: Layout | None = None,
    more: Iterable[Term] = (),
    options: Options = DEFAULT,
    progress: Report = lambda _: None,
) -> tuple[PropertyResult, ...]:
    """A verdict for each property asked for of the getrandom at `entry` in the target's image.

    The target's function is the ChaCha20 that it calls. `layout` is that of the architecture's
    kernels by default. `more` are assumptions on the arguments on top of what a caller grants,
    under which the verdicts hold then. Of the options, budget and timeout are for one question to
    the solver, and up to `jobs` tasks are done at once, each in a process of its own.
    """
    found: list[tuple[_Task, _Found]] = []
    reason = ""
    try:
        progress(Progress("execute", target.function.name, 0, 0))
        questions = Questions(options.budget, options.timeout)
        setting = _setting(target, entry, layout)
        try:
            found += _found(setting, questions, tuple(more), options.jobs, progress)
        except Unsupported:
            if not setting.one_path:
                raise
            # What the two cases of a time namespace do not have in common may have been needed.
            apart = replace(setting, one_path=False)
            found += _found(apart, questions, tuple(more), options.jobs, progress)
    except Unsupported as error:
        reason = _located(error, base_of(target))
    return tuple(_result(claim, found, reason) for claim in Claim if claim in options.properties)


def _setting(target: Target, entry: int, layout: Layout | None) -> Setting:
    """What is executed; raises Unsupported where that is not what runs."""
    port = target.architecture.getrandom_port
    if port is None:
        raise Unsupported(0, f"getrandom on {target.architecture.title} is not supported")
    if target.unusable:
        raise Unsupported(0, target.unusable)
    if target.patching_unknown:
        raise Unsupported(0, target.patching_unknown)
    if target.relocations:
        raise Unsupported(0, "the image has relocations that are not resolved")
    setting = setting_of(target, entry, layout or Layout(port.page_bytes, port.data_page), port)
    for block in setting.flow.blocks.values():
        for one in setting.target.alternatives:
            if one.overlaps(block.address, block.size):
                raise Unsupported(block.address, "the kernel may change this code when it boots")
    instruction_set = setting.architecture.instruction_set
    refuse_hints(instruction_set, setting.engine, setting.flow, setting.special)
    return setting


def _found(
    setting: Setting, questions: Questions, more: tuple[Term, ...], jobs: int, progress: Report
) -> list[tuple[_Task, _Found]]:
    """Walk all paths, and do what is left then. Raises Unsupported.

    With several processes one of them walks the disturbed ones meanwhile.
    """
    walker = Walker(setting, questions)
    attempts = Attempts(walker)
    begun = attempts.begun(more)

    def disturbed(known: Callable[[], Undisturbed]) -> list[_Task]:
        known = cache(known)
        return [
            _Task(
                "disturbed call",
                frozenset({Claim.FORK}),
                1,
                setting.base,
                partial(disturbed_differences, setting, head, questions, known),
            )
            for head in begun.back
        ]

    def meanwhile(wait: Callable[[], Undisturbed]) -> list[_Found]:
        start_afresh()
        return _each(disturbed(wait), lambda _: None)

    with beside(meanwhile) if jobs > 1 and begun.back else nullcontext() as other:
        parts = attempts.parts(begun)
        known = undisturbed(setting, parts)
        if other is not None:
            other.tell(known)
        tasks = _tasks(walker, attempts, parts)
        behind = disturbed(lambda: known)
        if other is None:
            tasks += behind
            return list(zip(tasks, _done(tasks, jobs, progress), strict=True))
        found = list(zip(tasks, _done(tasks, jobs - 1, progress), strict=True))
        result = other.result()
    if isinstance(result, WorkerError):
        raise result
    return [*found, *zip(behind, result, strict=True)]


def _tasks(walker: Walker, attempts: Attempts, parts: tuple[Part, ...]) -> list[_Task]:
    """What is left to be done of the undisturbed paths. Raises Unsupported."""
    setting, questions = walker.setting, walker.questions
    if not parts[0].returned or not questions.shown_possible(parts[0].start.facts):
        raise Unsupported(setting.entry, "no call is shown to return")
    declines = may_decline(setting) and declines_all(parts[0])
    compared = [
        _Task(
            "declined call" if declines else "second attempt" if number else "first attempt",
            COMPARED | {Claim.ABI},
            len(some),
            setting.base,
            partial(declined, setting, _only(part, some), questions)
            if declines
            else partial(differences, setting, _only(part, some), questions, again=number > 0),
        )
        for number, part in enumerate(parts)
        for some in batched((*part.returned, *part.back), _TOGETHER)
    ]
    walk = walk_of(walker, attempts, parts)
    paths = sum(task.paths for task in compared)
    decided = [
        _Task(
            "confined call",
            footprint.CONFINED,
            paths,
            setting.base,
            partial(footprint.astray, walk),
        ),
        *(
            _Task("call", frozenset({claim}), paths, setting.base, partial(decide, walk))
            for claim, decide in _DECIDED.items()
        ),
    ]
    early = partial(early_differences, setting, parts[0], questions)
    return [
        *compared,
        *decided,
        _Task("disturbed call", frozenset({Claim.FORK}), 1, setting.base, early),
    ]


def _only(part: Part, paths: Iterable[Path]) -> Part:
    """Some of the paths of a part."""
    some = list(paths)
    return replace(
        part,
        returned=tuple(path for path in some if path.returned),
        back=tuple(path for path in some if not path.returned),
    )


def _done(tasks: Sequence[_Task], jobs: int, progress: Report) -> list[_Found]:
    """What comes of each task; with several processes each has an equal share of them."""
    numbers = count(1)

    def done(what: str) -> None:
        progress(Progress("decide", what, next(numbers), len(tasks)))

    progress(Progress("decide", "", 0, len(tasks)))
    shares = [tasks[first::jobs] for first in range(min(jobs, len(tasks)))]
    if len(shares) == 1:
        return _each(tasks, done)
    found: list[list[_Found]] = []
    for one in forked(
        [partial(_share, share) for share in shares], jobs, lambda _, what: done(what)
    ):
        if isinstance(one, WorkerError):
            raise one
        found.append(one)
    return [found[number % jobs][number // jobs] for number in range(len(tasks))]


def _share(tasks: Sequence[_Task], tell: Tell) -> list[_Found]:
    start_afresh()
    return _each(tasks, tell)


def _each(tasks: Sequence[_Task], done: Callable[[str], None]) -> list[_Found]:
    found = []
    for task in tasks:
        found.append(_run(task))
        done(task.what)
    return found


def _run(task: _Task) -> _Found:
    start = time.perf_counter()
    differing: list[Difference] = []
    notes: list[Note] = []
    try:
        for one in task.run():
            if isinstance(one, Note):
                notes.append(one)
            else:
                differing.append(one)
    except Unsupported as error:
        differing.append(Difference(task.claims, _located(error, task.base)))
    return _Found(tuple(differing), tuple(notes), time.perf_counter() - start)


def _located(error: Unsupported, base: int) -> str:
    """What is not supported, with its address in the image, which is read at `base`."""
    return f"{error.address - base:#x}: {error.reason}" if error.address else error.reason


def _result(claim: Claim, found: Sequence[tuple[_Task, _Found]], reason: str) -> PropertyResult:
    """What was found of one claim; `reason` says why nothing was."""
    checks = _checks(claim, found)
    reason = reason or _reason(checks)
    for other in RESTS_ON.get(claim, ()):
        if not reason and _reason(_checks(other, found)):
            reason = f"{other} is not proved, on which this rests"
    proved = bool(checks) and not reason
    return PropertyResult(
        claim.value,
        TITLES[claim],
        Verdict.PROVED if proved else Verdict.UNKNOWN,
        None,  # The paths are walked for all of them.
        checks,
        findings=tuple(
            dict.fromkeys(
                note.text for _, one in found for note in one.notes if note.claim is claim
            )
        ),
        reason=reason,
    )


def _checks(claim: Claim, found: Sequence[tuple[_Task, _Found]]) -> tuple[Check, ...]:
    return tuple(
        _check(claim, what, list(some))
        for what, some in groupby(
            (one for one in found if claim in one[0].claims), key=lambda one: one[0].what
        )
    )


def _reason(checks: Iterable[Check]) -> str:
    """Why not all of them are shown; empty where they are."""
    return next((one.reason for one in checks if one.reason), "")


def _check(claim: Claim, what: str, found: Sequence[tuple[_Task, _Found]]) -> Check:
    """One claim on the paths of several tasks that look at the same."""
    differing = (each for _, one in found for each in one.differences if claim in each.claims)
    reason = next((each.reason for each in differing), "")
    return Check(
        f"{claim}/{what.replace(' ', '-')}",
        f"on each path of a {what}",
        Verdict.UNKNOWN if reason else Verdict.PROVED,
        together(one.seconds if task.claims == {claim} else None for task, one in found),
        sum(task.paths for task, _ in found),
        reason=reason,
    )
