"""What a call of ChaCha20 and a system call do, by their contracts."""

from __future__ import annotations

from specs.contract import BLOCK_BYTES, REFILL_BLOCKS
from specs.opaque_state import KEY_OFFSET
from verify.arch import ON_STACK, Saved
from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.reasoning.questions import Facts, Questions
from verify.getrandom.walk.answers import answered
from verify.getrandom.walk.events import Keystream, SystemCall
from verify.getrandom.walk.mapped import address_in
from verify.getrandom.walk.memory import BUFFER, STATE
from verify.getrandom.walk.origins import BELOW, DESTROYED
from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import STACK
from verify.terms import (
    Linear,
    Term,
    add,
    binary,
    concat,
    conjunction,
    const,
    extract,
    linear,
    unsigned_less_equal,
    zero_extend,
)

_COUNTER_BITS = 64


def system_call(setting: Setting, machine: Machine) -> Facts:
    """Record a system call, and let it change what it may change; what holds of its result."""
    how, memory = setting.architecture.system_calls, memory_of(machine)
    buffer, length, flags = (setting.read(machine, name) for name in how.arguments[:3])
    result = memory.origins.fresh("result", setting.bits)
    number = setting.read(machine, how.number)
    memory.events.append(SystemCall(memory.at, number, buffer, length, flags, result))
    held = _held(machine)
    for name in how.destroyed:
        _destroy(setting, machine, name, held)
    facts = answered(setting, machine, result, length)
    key = add(setting.argument("opaque_state"), const(KEY_OFFSET, setting.bits))
    # Another call for a key, or one for more, departs from the specification.
    if linear(buffer) == linear(key):
        memory.new_key()
    return facts


def chacha20(setting: Setting, machine: Machine, facts: Facts, questions: Questions) -> None:
    """Let ChaCha20, which is called, write its blocks and return to the machine's pc; raises
    Unsupported outside of its contract."""
    memory, bits, at = memory_of(machine), setting.bits, machine.instruction
    to, key, counter, blocks = (
        setting.read(machine, name) for name in setting.architecture.arguments[:4]
    )
    expected = add(setting.argument("opaque_state"), const(KEY_OFFSET, bits))
    if linear(key) != linear(expected):
        raise Unsupported(at, "ChaCha20 gets another key than the state's")
    one, most = const(1, bits), const((1 << bits) // BLOCK_BYTES - 1, bits)
    within = conjunction((unsigned_less_equal(one, blocks), unsigned_less_equal(blocks, most)))
    if not questions.follows(facts, within):
        raise Unsupported(at, "ChaCha20 is not shown to be called for one block or more")
    frame = _frame(setting, machine)
    if address_in(_return_address(setting, machine, frame)) != machine.pc:
        raise Unsupported(at, "ChaCha20 does not return behind its call")
    slot = _slot(setting, machine, counter, frame)
    value = counter_at(setting, machine, slot)
    place = memory.normalise(linear(to))
    if place is not None and place.region == BUFFER:
        size = binary("bvmul", blocks, const(BLOCK_BYTES, bits))
        position = Linear(bits, place.offset, place.index.coefficients)
        memory.events.append(Keystream(memory.at, position, memory.key, value, size))
    elif (
        place is not None
        and (place.region, place.offset) == (STATE, 0)
        and place.index.is_constant
        and blocks.value == REFILL_BLOCKS
    ):
        memory.refilled(value)
    else:
        raise Unsupported(at, "ChaCha20 writes neither to the buffer nor over batch and key")
    set_counter(setting, machine, slot, add(value, zero_extend(blocks, _COUNTER_BITS - bits)))
    stack = memory.region(STACK, Linear(bits, 0))
    slots = [(frame + offset, length) for offset, length in setting.architecture.linkage_area]
    below = [(offset, length, value) for offset, length, value in stack if offset < frame]
    left = [*below, *(one for one in stack if any(_overlap(one[:2], slot) for slot in slots))]
    held = _held(machine).union(dependences(machine.converter.term(value) for *_, value in left))
    held = memory.below = held | memory.below
    for register in setting.architecture.registers:
        if register.saved is Saved.CALLER:
            _destroy(setting, machine, register.name, held)
    for offset, length, _ in below:
        _leave(setting, machine, offset, min(length, frame - offset), held)
    for offset, length in slots:
        _leave(setting, machine, offset, length, held)
    pointer, popped = setting.architecture.stack_pointer, setting.architecture.popped_at_return
    setting.write(machine, pointer, add(setting.read(machine, pointer), const(popped, bits)))


def _return_address(setting: Setting, machine: Machine, frame: int) -> Term:
    """Where a function returns to that is entered now, with a stack pointer of `frame`."""
    architecture = setting.architecture
    if architecture.return_address != ON_STACK:
        return setting.read(machine, architecture.return_address)
    stack = memory_of(machine).region(STACK, Linear(setting.bits, 0))
    return machine.converter.term(stack.read(frame, setting.bits // 8))


def _frame(setting: Setting, machine: Machine) -> int:
    """The stack pointer at the entry of ChaCha20, from the one at the entry of getrandom; raises
    Unsupported where it is not aligned. What is proved of ChaCha20 does not rest on that."""
    architecture = setting.architecture
    alignment = setting.port.call_alignment or architecture.stack_alignment
    value = setting.read(machine, architecture.stack_pointer)
    offset = linear(value).plus(linear(setting.argument("sp")), -1)
    if not offset.is_constant or offset.constant % alignment:
        raise Unsupported(machine.instruction, "the stack is not aligned at the call of ChaCha20")
    return offset.constant


def _slot(setting: Setting, machine: Machine, counter: Term, frame: int) -> int:
    """Where the counter lies; raises Unsupported where it is no place of the frame, or another one
    than at an earlier call."""
    memory, size = memory_of(machine), _COUNTER_BITS // 8
    place = memory.normalise(linear(counter))
    linkage = setting.architecture.linkage_area
    if (
        place is None
        or place.region != STACK
        or not place.index.is_constant
        or not frame <= place.offset <= -size
        or any(at - size < place.offset - frame < at + length for at, length in linkage)
        or memory.counter not in (None, place.offset)
        or not memory.given_up.isdisjoint(range(place.offset, place.offset + size))
    ):
        raise Unsupported(
            machine.instruction, "ChaCha20's counter is not at one place of the frame"
        )
    memory.counter = place.offset
    return place.offset


def counter_at(setting: Setting, machine: Machine, slot: int) -> Term:
    """The 64-bit block counter: two words in the machine's byte order, the low one first."""
    stack = memory_of(machine).region(STACK, Linear(setting.bits, 0))
    low, high = (machine.converter.term(stack.read(slot + 4 * n, 4)) for n in range(2))
    return setting.simplify(concat(high, low))


def set_counter(setting: Setting, machine: Machine, slot: int, value: Term) -> None:
    """Put a 64-bit block counter into its place on the stack."""
    stack = memory_of(machine).region(STACK, Linear(setting.bits, 0))
    for number, word in enumerate((extract(value, 31, 0), extract(value, 63, 32))):
        stack.write(slot + 4 * number, machine.converter.leaf(word))


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two ranges of (offset, bytes) have bytes in common."""
    return one[0] < sum(other) and other[0] < sum(one)


def _leave(
    setting: Setting, machine: Machine, offset: int, size: int, held: frozenset[Term]
) -> None:
    """Let those bytes of the stack hold anything: also something that depends on what was
    `held`."""
    memory = memory_of(machine)
    unknown = memory.origins.fresh(BELOW, 8 * size)
    memory.origins.stands_for(unknown, held)
    stack = memory.region(STACK, Linear(setting.bits, 0))
    stack.write(offset, machine.converter.leaf(unknown))


def _held(machine: Machine) -> frozenset[Term]:
    """The variables of all that is in registers."""
    return dependences(machine.converter.term(value) for *_, value in machine.registers)


def _destroy(setting: Setting, machine: Machine, name: str, held: frozenset[Term]) -> None:
    """Let a register, or the part of it that has the name, hold anything: also something that
    depends on what was `held`."""
    register = setting.architecture.register(name)
    _, size = setting.engine.layout.registers[register.storage]

    def fresh(bits: int) -> Term:
        unknown = memory_of(machine).origins.fresh(DESTROYED, bits)
        memory_of(machine).origins.stands_for(unknown, held)
        return unknown

    if register.bits is None:
        setting.write(machine, name, fresh(8 * size))
        return
    high, low = register.bits
    storage = register.storage
    offset, _ = setting.engine.layout.registers[storage]
    whole = machine.converter.term(machine.registers.read(offset, size))
    parts = [fresh(high - low + 1)]
    if high < 8 * size - 1:
        parts.insert(0, extract(whole, 8 * size - 1, high + 1))
    if low:
        parts.append(extract(whole, low - 1, 0))
    machine.registers.write(offset, machine.converter.leaf(concat(*parts)))
