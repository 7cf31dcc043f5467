"""The memory of a getrandom: what each region may be used for, and the record of its uses.

The state is a batch, a key that only ChaCha20 and the kernel touch, and scalars. Bytes of the batch
are never looked into: a read gives a variable that stands for where it was read, and only such a
variable can be written to the buffer. What is used otherwise raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from specs.opaque_state import BATCH_BYTES, STATE_BYTES
from verify.getrandom.walk.events import (
    FIELDS,
    BatchRead,
    Copy,
    Event,
    Field,
    FieldRead,
    FieldWrite,
    PageRead,
    Refill,
    Stored,
)
from verify.getrandom.walk.origins import BATCH, Origins
from verify.lift.convert import Converter
from verify.lift.machine import Unsupported
from verify.lift.memory import CODE, STACK, Place, RegionMemory
from verify.terms import Linear, Term, const, equal, iff_else

BUFFER, STATE = "buffer", "opaque_state"
DATA = "data"
"""The kernel's data for the generator, where it is not known on which page they are."""


class GetrandomMemory(RegionMemory):
    """The bytes of the stack and of pos, and the events of one path since `events` was emptied."""

    def __init__(
        self,
        little: bool,
        bases: Mapping[Term, str],
        code: Callable[[int, int], bytes | None],
        converter: Converter,
        origins: Origins,
    ) -> None:
        super().__init__(little, bases, code, {})
        self._converter = converter
        self.origins = origins
        self.events: list[Event | Stored] = []
        self.at = 0
        self.epoch = 0
        """How often the batch was refilled."""
        self.key = "state"
        """The name of the key: `state`, or `answer` or `refill` with a number."""
        self.answers = 0
        """How many keys were asked for."""
        self.counter: int | None = None
        """Where ChaCha20's counter lies, from the stack pointer at entry; None as long as it has
        not been called."""
        self.disturbed = False
        """Whether the state may be zeroed before each read of pos."""
        self.copied: frozenset[Term] = frozenset()
        """The variables for bytes of the batch that were written to the buffer."""
        self.below: frozenset[Term] = frozenset()
        """The variables that ChaCha20 may have written something of to the stack below."""
        self.given_up: frozenset[int] = frozenset()
        """The bytes of the stack, from the stack pointer at entry, that a signal handler may have
        overwritten: the stack pointer was above, and they were not written since."""

    def copy(self) -> GetrandomMemory:
        """An independent copy."""
        twin = GetrandomMemory(self._little, self._bases, self._code, self._converter, self.origins)
        twin._cells = {key: cells.copy() for key, cells in self._cells.items()}
        twin.events = list(self.events)
        twin.epoch, twin.key, twin.answers = self.epoch, self.key, self.answers
        twin.counter, twin.disturbed = self.counter, self.disturbed
        twin.copied, twin.below, twin.given_up = self.copied, self.below, self.given_up
        return twin

    def load(self, place: Place | None, size: int, fresh: Callable[[], Any]) -> Any:
        """The value of `size` bytes."""
        if place is None:
            raise Unsupported(0, "a load that belongs to no single region")
        if place.region == CODE and place.index.is_constant:
            if self._code(place.offset, size) is not None:
                return super().load(place, size, fresh)
            value = self.origins.fresh("page", 8 * size)
            self.events.append(PageRead(self.at, place.offset, size, value))
            return self._converter.leaf(value)
        if place.region == DATA and place.index.is_constant:
            value = self.origins.fresh("page", 8 * size)
            self.events.append(PageRead(self.at, place.offset, size, value, place.offset))
            return self._converter.leaf(value)
        if place.region == STACK and place.index.is_constant:
            stack = self.region(STACK, place.index)
            if place.offset < 0 and not stack.covers(place.offset, min(size, -place.offset)):
                raise Unsupported(0, "reads of the stack what it has not written")
            return stack.read(place.offset, size)
        if place.region == STATE:
            return self._from_state(place, size)
        raise Unsupported(0, f"a load from the {place.region} that is not at a constant address")

    def _from_state(self, place: Place, size: int) -> Any:
        field = FIELDS.get((place.offset, size)) if place.index.is_constant else None
        if field is not None:
            # Whatever was stored in the others: the page may have been zeroed, or a handler called.
            pos = field is Field.POS
            value = self._read_pos() if pos else self.origins.fresh(field, 8 * size)
            self.events.append(FieldRead(self.at, field, value))
            return self._converter.leaf(value)
        start = self._in_batch(place, size)
        value = self.origins.fresh(BATCH, 8 * size)
        read = BatchRead(self.at, self.epoch, start, Linear(start.width, size))
        self.origins.read[value] = read
        self.events.append(read)
        return self._converter.leaf(value)

    def _in_batch(self, place: Place, size: int) -> Linear:
        """The position of an access that is one to the batch; a constant one is checked here."""
        if place.index.is_constant and not 0 <= place.offset <= BATCH_BYTES - size:
            inside = 0 <= place.offset <= STATE_BYTES - size
            where = "key or padding" if inside else "not the state's"
            raise Unsupported(0, f"{size} bytes at {place.offset} of the state: {where}")
        return Linear(place.index.width, place.offset, place.index.coefficients)

    def pos(self) -> Any:
        """The value of pos."""
        zero = Linear(next(iter(self._bases)).width, 0)
        return self.region(Field.POS, zero).read(0, 1)

    def _read_pos(self) -> Term:
        """What a read of pos gives. A page that was zeroed stays so until something is written."""
        value = self._converter.term(self.pos())
        if self.disturbed:
            zeroed = equal(self.origins.fresh("zeroed", 1), const(1, 1))
            value = iff_else(zeroed, const(0, value.width), value)
            self._write_pos(self._converter.leaf(value))
        return value

    def _write_pos(self, value: Any) -> None:
        zero = Linear(next(iter(self._bases)).width, 0)
        self.region(Field.POS, zero).write(0, value)

    def store(self, place: Place | None, value: Any) -> None:
        """Store a value."""
        size = value.size() // 8
        if place is None or place.region == CODE:
            raise Unsupported(0, "a store that belongs to no single region")
        position = Linear(place.index.width, place.offset, place.index.coefficients)
        if place.region == STACK and place.index.is_constant:
            self.region(STACK, place.index).write(place.offset, value)
        elif place.region == STATE:
            self._into_state(place, size, value)
        elif place.region == BUFFER:
            term = self._converter.term(value)
            read = self.origins.read.get(term)
            if read is None or read.size.constant != size:
                raise Unsupported(0, "what is written to the buffer is not read from the batch")
            self.copied |= {term}
            self.events.append(Copy(self.at, position, read.epoch, read.start, read.size))
        else:
            raise Unsupported(0, "a store to the stack at an address that is not constant")

    def _into_state(self, place: Place, size: int, value: Any) -> None:
        term = self._converter.term(value)
        field = FIELDS.get((place.offset, size)) if place.index.is_constant else None
        if field is not None:
            self.events.append(FieldWrite(self.at, field, term))
            if field is Field.POS:
                self._write_pos(value)
            return
        start = self._in_batch(place, size)
        length = Linear(start.width, size)
        stored = Stored(self.at, start, length, term)
        value = term.value
        self.events.append(stored if value is None else stored.settled(value, self.epoch))

    def refilled(self, counter: Term) -> None:
        """Batch and key are the next two blocks under the key."""
        self.events.append(Refill(self.at, self.key, counter))
        self.epoch += 1
        self.key = f"refill {self.epoch}"

    def new_key(self) -> None:
        """The kernel was asked for a key: what is there now is what it wrote."""
        self.answers += 1
        self.key = f"answer {self.answers}"
