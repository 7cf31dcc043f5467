"""Random histories of a getrandom state: calls, and what the world does meanwhile."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from specs.getrandom_world import Answer, Call, Port, SystemCall

PORTS = (
    Port(bits=64, byte_order="little", page_bytes=4096),
    Port(bits=64, byte_order="little", page_bytes=16384),
    Port(bits=64, byte_order="big", page_bytes=4096),
    Port(bits=64, byte_order="little", page_bytes=65536),
    Port(bits=32, byte_order="big", page_bytes=4096),
)

ANSWERS = ("all", "short", "nothing", "partial error", "error")
EINTR, EFAULT_ERRNO = 4, 14


@dataclass(frozen=True)
class Step:
    """One call, and the world around it.

    `place`: the state's offset from the end of its page, in bytes. `jumps`: by how much the
    generation goes up before each read of it. `answers`: how each system call ends. `before`: what
    happens to the state before the call. `meanwhile`: what happens to it during the call, by how
    many accesses to it come first.
    """

    length: int
    buffer: int = 0x7000
    flags: int = 0
    place: int = 144
    opaque_len: int = 144
    ready: int = 1
    jumps: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()
    before: str = "nothing"
    meanwhile: tuple[tuple[int, str], ...] = ()

    def call(self, port: Port) -> Call[int]:
        top = 2**port.bits
        return Call(
            buffer=self.buffer,
            len=self.length % top,
            flags=self.flags,
            opaque_state=9 * port.page_bytes - self.place,
            opaque_len=self.opaque_len % top,
        )


class World:
    """The kernel: its generation, and its answers, whose bytes never repeat."""

    def __init__(self) -> None:
        self.current = 1
        self.served = 0
        self.jumps: list[int] = []
        self.answers: list[str] = []
        self.ready = 1

    def enter(self, step: Step) -> None:
        self.ready, self.jumps, self.answers = step.ready, list(step.jumps), list(step.answers)

    def is_ready(self) -> int:
        return self.ready

    def generation(self) -> int:
        if self.jumps:
            self.current += self.jumps.pop(0)
        return self.current

    def fresh(self, count: int) -> tuple[int, ...]:
        """Return bytes that no call before got."""
        octets = b""
        while len(octets) < count:
            self.served += 1
            octets += hashlib.sha256(self.served.to_bytes(8)).digest()
        return tuple(octets[:count])

    def system_call(self, call: SystemCall[int], /) -> Answer[int]:
        length = min(call.len, 300)
        match self.answers.pop(0) if self.answers else "all":
            case "all":
                return Answer(length, self.fresh(length))
            case "short":
                part = max(0, length - 1)
                return Answer(part, self.fresh(part))
            case "nothing":
                return Answer(0, ())
            case "partial error":
                return Answer(-EFAULT_ERRNO, self.fresh(min(length, 5)))
            case _:
                return Answer(-EINTR, ())

    def answer(self, buffer: int, length: int, flags: int) -> tuple[int, bytes]:
        """The same for the model."""
        answer = self.system_call(SystemCall(buffer, length, flags))
        return answer.result, bytes(answer.written)


def most(common: st.SearchStrategy[int], rare: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    """Draw from `common` three times in four."""
    return st.one_of(common, common, common, rare)


lengths = most(
    st.integers(1, 110),
    st.one_of(
        st.just(0),
        st.integers(100, 300),
        st.integers(2**31 - 65600, 2**31 + 64),
        st.sampled_from((2**32 - 1, 2**63 - 1, 2**64 - 1)),
    ),
)
jumps = st.lists(most(st.just(0), st.integers(1, 3)), max_size=5).map(tuple)
answers = st.lists(
    st.one_of(st.just("all"), st.just("all"), st.sampled_from(ANSWERS)), max_size=3
).map(tuple)

before = st.sampled_from(("nothing", "nothing", "zero", "interrupted"))
flags = st.one_of(st.integers(0, 7), st.sampled_from((8, 15, 2**31, 2**32 - 1)))
places = st.one_of(st.integers(100, 190), st.sampled_from((143, 144)))
opaque_lens = st.sampled_from((0, 143, 145, 144 + 2**32, 2**32 - 1, 2**64 - 1))

plain = st.builds(Step, length=lengths, jumps=jumps, answers=answers, before=before)
odd = st.one_of(
    st.builds(Step, length=lengths, flags=flags, answers=answers),
    st.builds(Step, length=lengths, place=places),
    st.builds(Step, length=lengths, opaque_len=opaque_lens, answers=answers),
    st.builds(Step, length=lengths, ready=st.just(0), before=before, answers=answers),
    st.builds(
        Step,
        length=lengths,
        flags=flags,
        place=places,
        opaque_len=most(st.just(144), opaque_lens),
        ready=st.sampled_from((0, 1)),
        before=before,
    ),
)
query = st.builds(
    Step,
    length=st.sampled_from((0, 0, 0, 1)),
    buffer=st.sampled_from((0, 0, 0, 0x7000)),
    flags=st.sampled_from((0, 0, 0, 1)),
    opaque_len=st.just(2**64 - 1),
)
exact = st.lists(st.one_of(plain, plain, plain, odd, query), min_size=1, max_size=8)


def disturbed(event: str) -> st.SearchStrategy[tuple[tuple[int, str], ...]]:
    point = st.tuples(st.integers(0, 24), st.just(event))
    return st.lists(point, max_size=2, unique_by=lambda item: item[0]).map(tuple)


unruly_step = st.builds(
    Step,
    length=lengths,
    jumps=jumps,
    answers=answers,
    before=st.sampled_from(("nothing", "nothing", "zero", "fork")),
    meanwhile=st.one_of(disturbed("drop"), disturbed("handler")),
)
unruly = st.lists(st.one_of(plain, unruly_step), min_size=1, max_size=8)

TOP = 2**64 - 1

NAMED: dict[str, tuple[Step, ...]] = {
    "batches and blocks": tuple(map(Step, (1, 40, 55, 96, 97, 64, 300, 33, 31))),
    "reseeds between calls": (Step(40), Step(10, jumps=(1,)), Step(90, jumps=(2,)), Step(20)),
    "a reseed during a call": (Step(40), Step(70, jumps=(0, 1)), Step(70)),
    "a reseed during each attempt": (Step(40), Step(200, jumps=(0, 1, 0, 1), flags=2), Step(70)),
    "the longest": (Step(2**31 - 1), Step(TOP, jumps=(0, 1)), Step(TOP, ready=0), Step(10)),
    "a key that does not come": (
        Step(50, jumps=(1,), answers=("short",)),
        Step(50, jumps=(1,), answers=("nothing",)),
        Step(50, jumps=(1,), answers=("error",)),
        Step(50),
        Step(50, jumps=(1,), answers=("partial error", "short")),
        Step(50),
    ),
    "no key in the second attempt": (
        Step(50),
        Step(80, jumps=(0, 1), answers=("nothing", "error")),
        Step(50),
    ),
    "a first key that does not come": (Step(50, answers=("nothing",)), Step(40), Step(20)),
    "states that are zeroed": (Step(50), Step(60, before="zero"), Step(60), Step(7, before="zero")),
    "interrupted calls": (Step(50), Step(20, before="interrupted"), Step(40), Step(9)),
    "flags": tuple(Step(10, flags=flags) for flags in (0, 1, 2, 4, 7, 8, 2**31)),
    "places": tuple(Step(10, place=place) for place in (145, 144, 143, 100, 1, 4096)),
    "sizes": tuple(Step(10, opaque_len=size) for size in (144, 143, 145, 0, TOP, 144)),
    "no length": (Step(0), Step(0, ready=0), Step(0, flags=8), Step(0, place=9), Step(9)),
    "not ready": (Step(10, ready=0, flags=1), Step(10), Step(10, ready=0, answers=("error",))),
    "queries": (
        Step(0, buffer=0, opaque_len=TOP),
        Step(0, buffer=0, opaque_len=TOP, place=9, ready=0),
        Step(1, buffer=0, opaque_len=TOP),
        Step(0, opaque_len=TOP),
        Step(0, buffer=0, opaque_len=TOP, flags=1),
    ),
    "all wrong at once": (
        Step(0, opaque_len=TOP, place=9, flags=8, ready=0),
        Step(5, flags=8, place=9, ready=0, before="interrupted"),
        Step(5, flags=8, opaque_len=143, ready=0),
    ),
}
"""Histories without disturbances, on which the specification is compared with the model."""

DISTURBED_CALLS = {
    "a call": Step(150),
    "a reseeding call": Step(30, jumps=(1,)),
    "a call with a reseed at its end": Step(30, jumps=(0, 1)),
    "a call with reseeds at each read": Step(30, jumps=(1, 1, 1, 1, 1, 1)),
    "a call without a key": Step(30, jumps=(1,), answers=("nothing",)),
}

UNRULY: dict[str, tuple[Step, ...]] = {
    f"{event} at access {access} of {name}": (
        Step(40),
        replace(call, meanwhile=((access, event),)),
        Step(40, before="fork"),
        Step(130),
        Step(40),
    )
    for name, call in DISTURBED_CALLS.items()
    for event in ("drop", "handler")
    for access in range(24)
}
"""Histories in which the state is disturbed once in a call, at each of its accesses."""
