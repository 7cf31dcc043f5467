"""What a zeroed page does no harm by: the order of accesses, on every path of the disturbed code.

`docs/getrandom.md` has the argument. Each path is written as a word, one letter for each access:

    i  in_use is read         g  the generation is read             K  a key is asked for
    c  in_use := 1            s  generation := the current one      F  fallback
    r  in_use := 0            z  generation := 0
    w  pos := 96              u  any other use of pos, batch or key, or bytes for the buffer
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from specs.getrandom import most_bytes
from specs.opaque_state import BATCH_BYTES, KEY_BYTES, KEY_OFFSET
from verify.getrandom.claims import Claim, Difference
from verify.getrandom.comparison.compare import differences
from verify.getrandom.comparison.kept import not_kept
from verify.getrandom.disturbed import Undisturbed, disturbed
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.answers import port_of, returned
from verify.getrandom.walk.attempts import Part
from verify.getrandom.walk.events import (
    Constant,
    Copy,
    Event,
    Field,
    FieldRead,
    FieldWrite,
    Keystream,
    PageRead,
    SystemCall,
    reads_current,
)
from verify.getrandom.walk.paths import Path, Walker
from verify.getrandom.walk.setting import FLAGS_BITS, Setting
from verify.terms import (
    Linear,
    Term,
    add,
    conjunction,
    const,
    equal,
    extract,
    subtract,
    unsigned_less_equal,
)

_ATTEMPT = "g+(?:sKw)?[ugw]*g"
"""If a key is asked for, the generation is stored in front of that, with nothing between; then pos
is set, and nothing is used before. The last read of the generation is behind every use."""
_SERVED = re.compile(f"{_ATTEMPT}r")
RETURNED = re.compile(f"{_ATTEMPT}rF?|g+sKzrF")
BACK = re.compile(_ATTEMPT)
_CLAIM = "ic"
_EARLY = re.compile("i?F?")


def early_differences(setting: Setting, part: Part, questions: Questions) -> Iterator[Difference]:
    """Whether a path of the first part uses the state without coming to the retry loop."""
    for path in (*part.returned, *part.back):
        if path.first is None:
            yield from _Word(setting, questions, path, path.events).early()


def disturbed_differences(
    setting: Setting, head: Path, questions: Questions, known: Callable[[], Undisturbed]
) -> Iterator[Difference]:
    """Everything in which it is not shown that a zeroed page does no harm to the calls that come to
    one head of the retry loop, given what is proved of the undisturbed code.

    Raises Unsupported where the disturbed code goes where it may not.
    """
    found = disturbed(Walker(setting, questions), head, known)
    for path in (*found.first.returned, *found.first.back):
        yield from _Word(setting, questions, path, path.events).attempt(_CLAIM)
    for part in found.second:
        for path in (*part.returned, *part.back):
            events = path.events[len(part.start.events) :]
            yield from _Word(setting, questions, path, events).attempt("", last=True)
    for part in found.more:
        for one in differences(setting, part, questions, again=True):
            yield Difference(frozenset({Claim.FORK}), one.reason)


class _Word:
    """One path, or the events of it that are looked at."""

    def __init__(
        self, setting: Setting, questions: Questions, path: Path, events: tuple[Event, ...]
    ) -> None:
        self._setting, self._path, self._events = setting, path, events
        self._questions = questions
        self._current = [
            event.value for event in events if isinstance(event, PageRead) and reads_current(event)
        ]
        letters = [(self._letter(event), event) for event in events]
        self._letters = [(letter, event) for letter, event in letters if letter]
        self.word = "".join(letter for letter, _ in self._letters)

    def early(self) -> Iterator[Difference]:
        """The path uses nothing of the state, or is the query."""
        if any(isinstance(event, Constant) for event in self._events):
            if any(isinstance(event, FieldRead | SystemCall) for event in self._events):
                yield self._differs("it writes constants over the state")
        elif not _EARLY.fullmatch(self.word):
            yield self._differs(f"it uses the state in front of the retry loop: {self.word}")

    def attempt(self, begins: str, *, last: bool = False) -> Iterator[Difference]:
        """The accesses are in the order that the argument needs; `begins` is how the word begins,
        and `last` whether no other attempt may follow."""
        path = self._path
        whole = RETURNED if path.returned else BACK
        rest = self.word.removeprefix(begins)
        if (last and not path.returned) or not (
            self.word.startswith(begins) and whole.fullmatch(rest)
        ):
            yield self._differs(f"the state is used in another order: {self.word}")
            return
        wanted = {
            "a key is used without the kernel having given one": self._has_key(rest),
            "the last check is not shown to have succeeded": self._checked(rest),
            "its result is not that of the fallback": self._fallen_back(),
            "pos may be stored above 96": self._pos_bounded(),
            "it may write behind the end of the buffer": self._buffer_bounded(),
        }
        for reason, shown in wanted.items():
            if not shown:
                yield self._differs(reason)
        for breach in path.breaches:
            if Claim.ABI in breach.claims:
                yield self._differs(breach.reason)
        if path.returned:
            for reason in not_kept(self._setting, path, self._questions):
                yield self._differs(reason)

    def _differs(self, reason: str) -> Difference:
        end = self._path.machine.instruction - self._setting.base
        text = f"if the page may be zeroed, on a path that ends at {end:#x}: {reason}"
        return Difference(frozenset({Claim.FORK}), text)

    def _follows(self, claim: Term) -> bool:
        return self._questions.follows(self._path.facts, claim)

    def _same(self, one: Term, other: Term) -> bool:
        return self._follows(equal(one, other))

    def _letter(self, event: Event) -> str:
        match event:
            case PageRead():
                return ""
            case FieldRead(_, field, _):
                letters = {Field.IN_USE: "i", Field.GENERATION: "g", Field.POS: "u"}
                return letters.get(field, "?")
            case FieldWrite(_, Field.IN_USE, value):
                known = ((0, "r"), (1, "c"))
                found = (letter for n, letter in known if self._same(value, const(n, value.width)))
                return next(found, "?")
            case FieldWrite(_, Field.GENERATION, value):
                if value.value == 0:
                    return "z"
                return "s" if any(self._same(value, one) for one in self._current) else "?"
            case FieldWrite(_, Field.POS, value):
                return "w" if value.value == BATCH_BYTES else "u"
            case SystemCall():
                return self._call(event)
            case Constant() | FieldWrite():
                return "?"
        return "u"

    def _call(self, event: SystemCall) -> str:
        """The letter of a system call."""
        setting = self._setting
        if event.number.value != setting.architecture.system_calls.getrandom:
            return "?"
        made = (event.buffer, event.len, extract(event.flags, FLAGS_BITS - 1, 0))
        state, size = setting.argument("opaque_state"), setting.bits
        key = add(state, const(KEY_OFFSET, size)), const(KEY_BYTES, size), const(0, FLAGS_BITS)
        original = tuple(setting.argument(name) for name in ("buffer", "len", "flags"))
        for letter, wanted in (("K", key), ("F", original)):
            if all(self._same(*pair) for pair in zip(made, wanted, strict=True)):
                return letter
        return "?"

    def _last(self, letter: str) -> Event:
        return next(event for one, event in reversed(self._letters) if one == letter)

    def _has_key(self, rest: str) -> bool:
        """Where a key is used that was asked for, all of it has come."""
        if "Kw" not in rest:
            return True
        asked = self._last("K")
        assert isinstance(asked, SystemCall)
        return self._same(asked.result, const(KEY_BYTES, asked.result.width))

    def _checked(self, rest: str) -> bool:
        """Where bytes are returned, what was read of the generation at last is a current one; that
        is never 0."""
        if not self._path.returned or not _SERVED.fullmatch(rest):
            return True
        read = self._last("g")
        assert isinstance(read, FieldRead)
        return any(self._same(read.value, one) for one in self._current)

    def _fallen_back(self) -> bool:
        if not self.word.endswith("F"):
            return True
        call = self._last("F")
        assert isinstance(call, SystemCall)
        result, told = returned(self._setting, self._path.machine)
        return self._same(result, call.result) and self._follows(told)

    def _pos_bounded(self) -> bool:
        return all(
            self._follows(unsigned_less_equal(event.value, const(BATCH_BYTES, event.value.width)))
            for event in self._events
            if isinstance(event, FieldWrite) and event.field is Field.POS
        )

    def _buffer_bounded(self) -> bool:
        return all(
            self._fits(event.to, event.size.term() if isinstance(event, Copy) else event.size)
            for event in self._events
            if isinstance(event, Copy | Keystream)
        )

    def _fits(self, to: Linear, size: Term) -> bool:
        """Whether bytes lie in that part of the buffer that a call may write."""
        setting = self._setting
        most = const(most_bytes(port_of(setting)), setting.bits)
        bounds = (setting.argument("len"), most)
        return self._follows(
            conjunction(
                claim
                for bound in bounds
                for claim in (
                    unsigned_less_equal(size, bound),
                    unsigned_less_equal(to.term(), subtract(bound, size)),
                )
            )
        )
