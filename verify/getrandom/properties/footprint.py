"""`footprint`: what memory a call touches.

Writes go to the first min(len, cap) bytes of the buffer, to the state but for its last six bytes,
and to the function's own part of the stack; reads are of the state, of the data page's two fields,
of the image, and of that part of the stack. The state is read only where a call can be served from
it or finds in_use set, and it and the buffer are written only where in_use was found clear. The
query writes the 64 bytes of the parameters. The kernel is given the key, or the buffer as it came.
"""

from __future__ import annotations

from collections.abc import Iterator

from specs.getrandom import FLAGS_BITS, KNOWN_FLAGS, most_bytes
from specs.opaque_state import (
    BATCH_BYTES,
    KEY_BYTES,
    KEY_OFFSET,
    PARAMETERS_BYTES,
    STATE_BYTES,
)
from verify.getrandom.claims import Claim, Difference
from verify.getrandom.properties.model import Walk
from verify.getrandom.reasoning.questions import Facts
from verify.getrandom.walk.answers import port_of
from verify.getrandom.walk.events import (
    BatchRead,
    Constant,
    Copy,
    Event,
    Field,
    FieldRead,
    FieldWrite,
    Keystream,
    PageRead,
    Refill,
    SystemCall,
    Zero,
)
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.ranges import joined
from verify.getrandom.walk.setting import Setting
from verify.history.memory import READY_OFFSET
from verify.terms import (
    Term,
    add,
    binary,
    conjunction,
    const,
    disjunction,
    equal,
    negate,
    subtract,
    unsigned_less_equal,
)

_READS = (FieldRead, BatchRead)
_WRITES = (FieldWrite, Zero, Constant, Refill, Copy, Keystream)


CONFINED = frozenset(Claim) - {Claim.PARAMS}
"""What is not shown either of a call that accesses other memory: that may not be there, and what is
written may hit the stack. The query is compared with all that it does."""


def found(walk: Walk) -> Iterator[Difference]:
    """Every access to the stack that is not shown to be allowed."""
    yield from walk.unfinished(Claim.FOOTPRINT)
    for path, _ in walk.paths():
        yield from (one for one in path.breaches if Claim.FOOTPRINT in one.claims)


def astray(walk: Walk) -> Iterator[Difference]:
    """Every other access that is not shown to be allowed. Those within the batch are checked where
    the paths are executed."""
    first, *others = walk.parts
    # What a second attempt begins with has been found by the paths that lead to it.
    begun = all(_served(walk, path.facts, path.events) for path in first.back)
    for part in walk.parts:
        known = begun if part in others else False
        for path in (*part.returned, *part.back):
            events = path.events[len(part.start.events) :]
            for reason in _path(walk, path, events, known):
                yield walk.differs_at_end(CONFINED, path, reason)


def _path(walk: Walk, path: Path, events: tuple[Event, ...], begun: bool) -> Iterator[str]:
    setting, facts, follows = walk.setting, path.facts, walk.questions.follows
    reads = any(isinstance(event, _READS) for event in events)
    writes = [event for event in events if isinstance(event, _WRITES)]
    if begun or (writes and _served(walk, facts, events)):
        pass
    elif writes and not follows(facts, _is_query(setting)):
        yield "it writes to state or buffer where no call is served"
    elif not all(map(_in_parameters, writes)):
        yield "the query writes more than the parameters"
    elif reads and not follows(facts, _usable(setting, events)):
        yield "it reads the state where that may not be there"
    for event in joined(events):
        claim = _allowed(setting, event)
        if not follows(facts, claim):
            yield f"{_described(setting, event)} is not shown to be allowed"


def _served(walk: Walk, facts: Facts, events: tuple[Event, ...]) -> bool:
    """Whether a path is shown to be one of a call that has found in_use clear."""
    zero = const(0, 8)
    clear = [
        equal(event.value, zero)
        for event in events
        if isinstance(event, FieldRead) and event.field is Field.IN_USE
    ]
    usable = _usable(walk.setting, events)
    return walk.questions.follows(facts, conjunction((usable, disjunction(clear))))


def _usable(setting: Setting, events: tuple[Event, ...]) -> Term:
    """That a call can be served from the state, if nobody uses that."""
    argument, bits = setting.argument, setting.bits
    page = setting.layout.page_bytes
    state = binary("bvand", argument("opaque_state"), const(page - 1, bits))
    unknown = const(~KNOWN_FLAGS, FLAGS_BITS)
    ready = [
        negate(equal(event.value, const(0, 8)))
        for event in events
        if isinstance(event, PageRead) and (event.offset, event.size) == (READY_OFFSET, 1)
    ]
    return conjunction(
        (
            unsigned_less_equal(state, const(page - STATE_BYTES, bits)),
            equal(binary("bvand", argument("flags"), unknown), const(0, FLAGS_BITS)),
            equal(argument("opaque_len"), const(STATE_BYTES, bits)),
            negate(equal(argument("len"), const(0, bits))),
            disjunction(ready),
        )
    )


def _is_query(setting: Setting) -> Term:
    argument, bits = setting.argument, setting.bits
    return conjunction(
        (
            equal(argument("opaque_len"), const(~0, bits)),
            equal(argument("buffer"), const(0, bits)),
            equal(argument("len"), const(0, bits)),
            equal(argument("flags"), const(0, FLAGS_BITS)),
        )
    )


def _in_parameters(event: Event) -> bool:
    if not isinstance(event, Constant | Zero):
        return False
    start, size = event.start, event.size
    constant = start.is_constant and size.is_constant
    return constant and 0 <= start.constant <= PARAMETERS_BYTES - size.constant


def _allowed(setting: Setting, event: Event) -> Term:
    """That an access is allowed in a call that is served. Positions in the batch are checked where
    it is read and erased; a scalar is what it is by its place."""
    bits = setting.bits
    match event:
        case PageRead(_, _, size, _, offset):
            fields = ((0, 8), (READY_OFFSET, 1))
            return conjunction(()) if (offset, size) in fields else disjunction(())
        case Constant(_, start, size):
            return unsigned_less_equal(start.term(), const(BATCH_BYTES - size.constant, bits))
        case Copy(_, to, _, _, size):
            return _in_buffer(setting, to.term(), size.term())
        case Keystream(_, to, _, _, length):
            return _in_buffer(setting, to.term(), length)
        case SystemCall(_, number, buffer, length, _):
            getrandom = setting.architecture.system_calls.getrandom
            key = add(setting.argument("opaque_state"), const(KEY_OFFSET, bits))
            wanted = (
                (key, const(KEY_BYTES, bits)),
                (setting.argument("buffer"), setting.argument("len")),
            )
            place = disjunction(
                conjunction((equal(buffer, where), equal(length, size))) for where, size in wanted
            )
            return conjunction((equal(number, const(getrandom, number.width)), place))
    return conjunction(())


def _in_buffer(setting: Setting, to: Term, size: Term) -> Term:
    """That bytes lie in what a call gives at most."""
    limits = (setting.argument("len"), const(most_bytes(port_of(setting)), setting.bits))
    return conjunction(
        one
        for limit in limits
        for one in (
            unsigned_less_equal(size, limit),
            unsigned_less_equal(to, subtract(limit, size)),
        )
    )


def _described(setting: Setting, event: Event) -> str:
    match event:
        case PageRead(at, address, size):
            there = address - setting.base
            return f"{at - setting.base:#x}: a read of {size} bytes at {there:#x}"
        case SystemCall(at):
            return f"{at - setting.base:#x}: what the kernel is given"
    what = "buffer" if isinstance(event, Copy | Keystream) else "state"
    return f"{event.at - setting.base:#x}: an access to the {what}"
