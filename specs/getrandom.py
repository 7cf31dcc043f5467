"""The vDSO's getrandom: what one call does, as Linux documents it.

    ssize_t getrandom(void *buffer, size_t len, unsigned int flags,
                      void *opaque_state, size_t opaque_len)

It is exported as `__vdso_getrandom` or `__kernel_getrandom`. Sources: Linux `lib/vdso/getrandom.c`
and `include/vdso/getrandom.h`, and getrandom(2). `docs/getrandom.md` says the same in words.

`getrandom` is the whole, and runs from top to bottom; each step below it is a function. A call on
integers:

    port = Port(bits=64, byte_order="little", page_bytes=4096)
    call = Call(buffer=0x5000, len=40, flags=0, opaque_state=0x1000, opaque_len=144)
    world = Script(is_ready=[1], generations=[7], answers=[Answer(32, tuple(range(32)))])
    outcome = getrandom(INT_VALUES, port, call, decode(bytes(144), "little"), world)
    outcome.result                              # 40
    buffer_after(bytes(40), outcome.writes)     # the 40 bytes
    encode(outcome.state, "little")             # the 144 bytes of the state afterwards
    outcome.system_calls                        # [getrandom(0x1000 + 96, 32, 0)]

The successive reads of the data page and the answers to system calls are given in order, since
either may change at any time. An `Environment` of one's own can compute them, and can change the
state between two accesses. With `Z3Values` in place of `INT_VALUES` everything is a term, and each
comparison that steers is decided by the caller, path by path; the lengths may be terms too.
"""

from __future__ import annotations

from dataclasses import replace

from specs.chacha20 import KEY_WORDS
from specs.contract import BLOCK_BYTES, REFILL_BLOCKS
from specs.getrandom_world import (
    Barrier,
    Batch,
    Call,
    Environment,
    Event,
    Filled,
    Keystream,
    Load,
    Outcome,
    Place,
    Port,
    Store,
    SystemCall,
    Write,
)
from specs.opaque_state import (
    BATCH_BYTES,
    KEY_BYTES,
    KEY_OFFSET,
    PARAMETERS,
    STATE_BYTES,
    State,
)
from specs.values import Values

GRND_NONBLOCK, GRND_RANDOM, GRND_INSECURE = 1, 2, 4
"""Linux `include/uapi/linux/random.h`."""
KNOWN_FLAGS = GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE
FLAGS_BITS = 32

EFAULT = 14
ENOSYS = 38
"""Linux `include/uapi/asm-generic/errno-base.h` and `errno.h`."""

INT_MAX = 2**31 - 1

ATTEMPTS = 2
"""The first, and one more if the generation changed meanwhile."""


def most_bytes(port: Port) -> int:
    """Return how many bytes a call gives at most: INT_MAX rounded down to whole pages."""
    return INT_MAX & ~(port.page_bytes - 1)


class Run[V]:
    """One call on its way: the state as it is now, and what happened so far.

    `counter` is ChaCha20's block counter, 64 bits. It starts at zero in each call and goes on
    through all blocks of the call, in a second attempt too.
    """

    def __init__(
        self,
        values: Values[V],
        port: Port,
        call: Call[V],
        state: State[V],
        environment: Environment[V],
    ) -> None:
        self.values = values
        self.port = port
        self.call = call
        self.state = state
        self.environment = environment
        self.counter = values.const(0, 64)
        self.events: list[Event[V]] = []
        self.writes: list[Write[V]] = []

    def size(self, value: int) -> V:
        """Return a constant as wide as size_t."""
        return self.values.const(value, self.port.bits)

    def outcome(self, result: V, parameters: tuple[V, ...] | None = None) -> Outcome[V]:
        """Return what the call has done, with its return value."""
        return Outcome(result, tuple(self.writes), self.state, parameters, tuple(self.events))

    def meanwhile(self) -> None:
        """Let happen to the state what happens before the next access to it."""
        self.state = self.environment.meanwhile(self.state)

    def load_is_ready(self) -> V:
        self.events.append(Load(Place.IS_READY))
        return self.environment.is_ready()

    def load_current_generation(self) -> V:
        self.events.append(Load(Place.CURRENT_GENERATION))
        return self.environment.generation()

    def load_in_use(self) -> V:
        self.meanwhile()
        self.events.append(Load(Place.IN_USE))
        return self.state.in_use

    def store_in_use(self, value: int) -> None:
        self.meanwhile()
        in_use = self.values.const(value, 8)
        self.events.append(Store(Place.IN_USE, in_use))
        self.state = replace(self.state, in_use=in_use)

    def load_generation(self) -> V:
        self.meanwhile()
        self.events.append(Load(Place.GENERATION))
        return self.state.generation

    def store_generation(self, value: V) -> None:
        self.meanwhile()
        self.events.append(Store(Place.GENERATION, value))
        self.state = replace(self.state, generation=value)

    def store_pos(self, value: V) -> None:
        self.meanwhile()
        self.events.append(Store(Place.POS, value))
        self.state = replace(self.state, pos=value)

    def barrier(self) -> None:
        self.events.append(Barrier())


def getrandom[V](
    values: Values[V],
    port: Port,
    call: Call[V],
    state: State[V],
    environment: Environment[V],
) -> Outcome[V]:
    """Return what a call does.

    For the query, `state` stands for what is at opaque_state and is left alone in the outcome;
    `parameters` go over its first 64 bytes. Raises ValueError if pos is above 96 where it matters,
    which no sequence of calls on a zeroed state brings about.
    """
    run = Run(values, port, call, state, environment)
    outcome = begin(run)
    for _ in range(ATTEMPTS):
        outcome = outcome or attempt(run)
    return outcome or give_up(run)


def begin[V](run: Run[V]) -> Outcome[V] | None:
    """Return what a call does that cannot be served from the state; None once it has the state."""
    call, values = run.call, run.values
    if is_query(run):
        return run.outcome(run.size(0), parameters(run))
    if straddles_page(run):
        return run.outcome(run.size(-EFAULT))
    if has_unknown_flag(run) or has_wrong_size(run) or not is_ready(run):
        return fallback(run)
    if values.equal(call.len, run.size(0)):
        return run.outcome(run.size(0))
    return None if claim(run) else fallback(run)


def attempt[V](run: Run[V]) -> Outcome[V] | None:
    """Try to serve the call; None where the generation has changed meanwhile."""
    if not follow_generation(run):
        return give_up(run)
    amount = serve(run)
    if not is_current(run):
        return None
    release(run)
    return run.outcome(amount)


def give_up[V](run: Run[V]) -> Outcome[V]:
    """Give the state back, and let the kernel answer."""
    release(run)
    return fallback(run)


def decline[V](run: Run[V]) -> Outcome[V]:
    """Return what a call does on a processor that lacks what ChaCha20 needs.

    The query says that the function is not there, and the kernel answers every other call.

    Linux `arch/arm64/kernel/vdso/vgetrandom.c` and `arch/s390/kernel/vdso/vgetrandom.c`.
    """
    return run.outcome(run.size(-ENOSYS)) if is_query(run) else fallback(run)


def is_query[V](run: Run[V]) -> bool:
    """Is this the query for the parameters: no buffer, no length, no flags, and size ~0?"""
    call, values = run.call, run.values
    return (
        values.equal(call.opaque_len, run.size(2**run.port.bits - 1))
        and values.equal(call.buffer, run.size(0))
        and values.equal(call.len, run.size(0))
        and values.equal(call.flags, values.const(0, FLAGS_BITS))
    )


def parameters[V](run: Run[V]) -> tuple[V, ...]:
    """Return the 16 words of 32 bits that answer the query."""
    return tuple(run.values.const(word, 32) for word in PARAMETERS)


def straddles_page[V](run: Run[V]) -> bool:
    """Does the state end in another page than it begins in? Each page may be zeroed by itself.

    It may end where a page ends. Nothing else is asked of its address.
    """
    offset = run.values.masked(run.call.opaque_state, run.port.page_bytes - 1)
    return run.values.less(run.size(run.port.page_bytes - STATE_BYTES), offset)


def has_unknown_flag[V](run: Run[V]) -> bool:
    """Is any flag set that this function does not know? Those that it knows change nothing."""
    unknown = run.values.masked(run.call.flags, 2**FLAGS_BITS - 1 - KNOWN_FLAGS)
    return not run.values.equal(unknown, run.values.const(0, FLAGS_BITS))


def has_wrong_size[V](run: Run[V]) -> bool:
    """Was the state allocated for another kernel, as after a checkpoint and restore?"""
    return not run.values.equal(run.call.opaque_len, run.size(STATE_BYTES))


def is_ready[V](run: Run[V]) -> bool:
    """Is the kernel's generator initialised? Before that, its flags decide even if len is zero."""
    return not run.values.equal(run.load_is_ready(), run.values.const(0, 8))


def fallback[V](run: Run[V]) -> Outcome[V]:
    """Let the kernel answer, to the arguments as they came, and return its result unchanged."""
    call = SystemCall(run.call.buffer, run.call.len, run.call.flags)
    run.events.append(call)
    answer = run.environment.system_call(call)
    run.writes.append(Write(run.size(0), Filled(answer.written)))
    return run.outcome(answer.result)


def claim[V](run: Run[V]) -> bool:
    """Take the state for this call, unless a call that this one interrupts has it."""
    if not run.values.equal(run.load_in_use(), run.values.const(0, 8)):
        return False
    run.store_in_use(1)
    return True


def release[V](run: Run[V]) -> None:
    """Give the state back; nothing of it is read or written afterwards."""
    run.store_in_use(0)


def follow_generation[V](run: Run[V]) -> bool:
    """See to it that the key belongs to the current generation. Return false if there is no key."""
    current = run.load_current_generation()
    if run.values.equal(run.load_generation(), current):
        return True
    return reseed(run, current)


def reseed[V](run: Run[V], current: V) -> bool:
    """Get a new key from the kernel, and return whether it gave one.

    The generation is stored first: were the process to fork between the two, the child would find
    either its state wiped or get another key, never the same key under a generation that fits.
    Without a key the generation is 0, which is never current, so that the next call tries again.
    """
    run.store_generation(current)
    run.barrier()
    if not request_key(run):
        run.store_generation(run.values.const(0, 64))
        return False
    run.store_pos(run.values.const(BATCH_BYTES, 8))
    return True


def request_key[V](run: Run[V]) -> bool:
    """Have the kernel write a key into the state. Return whether all 32 bytes came."""
    address = run.values.add(run.call.opaque_state, run.size(KEY_OFFSET))
    call = SystemCall(address, run.size(KEY_BYTES), run.values.const(0, FLAGS_BITS))
    run.meanwhile()
    run.events.append(call)
    answer = run.environment.system_call(call)
    key = (*answer.written, *run.state.key[len(answer.written) :])
    run.state = replace(run.state, key=key)
    return run.values.equal(answer.result, run.size(KEY_BYTES))


def serve[V](run: Run[V]) -> V:
    """Fill the buffer from its start, and return with how many bytes.

    First comes what is left of the batch, then whole blocks, then the beginning of a new batch.
    """
    amount = run.values.minimum(run.call.len, run.size(most_bytes(run.port)))
    given = take_from_batch(run, run.size(0), amount)
    if not run.values.equal(given, amount):
        given = give_blocks(run, given, amount)
        refill(run)
        take_from_batch(run, given, amount)
    return amount


def take_from_batch[V](run: Run[V], given: V, amount: V) -> V:
    """Move bytes of the batch to the buffer until it has `amount`, or the batch is used up.

    Each byte is erased from the batch. Returns how many bytes the buffer has then.
    """
    values = run.values
    run.meanwhile()
    pos = values.resized(run.state.pos, run.port.bits)
    if values.less(run.size(BATCH_BYTES), pos):
        raise ValueError(f"pos is at most {BATCH_BYTES}")
    count = values.minimum(
        values.sub(run.size(BATCH_BYTES), pos),
        values.sub(amount, given),
    )
    run.events += (Load(Place.BATCH), Store(Place.BUFFER), Store(Place.BATCH))
    run.writes.append(Write(given, Batch(run.state.batch, pos, count)))
    run.state = replace(run.state, batch=values.erased(run.state.batch, pos, count))
    run.store_pos(values.resized(values.add(pos, count), 8))
    return values.add(given, count)


def give_blocks[V](run: Run[V], given: V, amount: V) -> V:
    """Write as many whole blocks into the buffer as still fit. Returns as `take_from_batch`."""
    values = run.values
    run.meanwhile()
    missing = values.sub(amount, given)
    count = values.sub(missing, values.masked(missing, BLOCK_BYTES - 1))
    run.events += (Load(Place.KEY), Store(Place.BUFFER))
    run.writes.append(Write(given, Keystream(key_words(run), run.counter, count)))
    blocks = values.resized(values.shifted_right(count, 6), 64)
    run.counter = values.add(run.counter, blocks)
    return values.add(given, count)


def refill[V](run: Run[V]) -> None:
    """Replace batch and key by the next two blocks under the key, which is gone then."""
    values = run.values
    run.meanwhile()
    octets: list[V] = []
    key = key_words(run)
    for _ in range(REFILL_BLOCKS):
        for word in values.block(key, run.counter):
            octets += values.split(word)
        run.counter = values.add(run.counter, values.const(1, 64))
    run.events += (Load(Place.KEY), Store(Place.BATCH), Store(Place.KEY))
    batch, new_key = tuple(octets[:BATCH_BYTES]), tuple(octets[BATCH_BYTES:])
    run.state = replace(run.state, batch=batch, key=new_key)
    run.store_pos(values.const(0, 8))


def key_words[V](run: Run[V]) -> tuple[V, ...]:
    """Return the key's 8 words: its bytes, read in the machine's byte order."""
    quads = (run.state.key[4 * i : 4 * i + 4] for i in range(KEY_WORDS))
    little = run.port.byte_order == "little"
    return tuple(run.values.join(quad[::-1] if little else quad) for quad in quads)


def is_current[V](run: Run[V]) -> bool:
    """Does the state still have a key of the current generation?

    The state's generation is read again: if its page was zeroed meanwhile it is 0, and what was
    served may have come from a key of zeros.
    """
    run.barrier()
    generation = run.load_generation()
    return run.values.equal(generation, run.load_current_generation())
