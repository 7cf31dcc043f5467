"""The states on which an instruction is compared: random ones and corners, placed in memory."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from verify import qemu
from verify.lift.generic import Touch
from verify.terms import Term, evaluate, linear, variables
from verify.validate.reading import Reading
from verify.validate.registers import Registers

BACKGROUNDS = 64
WINDOW = 512
WHOLE_PAGE_EVERY = 16
"""One state in so many observes the whole page around its accesses, the others a window."""

_DATA_PAGES = (0x1234_8000, 0x9876_4000, 0x0007_89AB_C000, 0x0EDC_BA98_4000)
"""Below and above 4 GiB, so that an address cut to 32 bits is noticed."""
_TARGETS = (0x2000_0000 - 0x8000, 0x8765_4320, 0x0003_5678_0000, 0x0BCD_EF01_2344)
_SAME_IN_ALL = (
    0,
    1,
    (1 << 64) - 1,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    (1 << 63) - 1,
    1 << 63,
)
"""The first states hold one of these 64-bit values in all inputs."""
_MARGIN = 0x200
_ATTEMPTS = 8


class Unplaceable(Exception):
    """No state was found in which the instruction's accesses fall into a page of data."""


@dataclass(frozen=True)
class State:
    """What an instruction starts from: QEMU's registers, and a window of memory.

    `window` is (address, bytes), in the page of data that is mapped; outside the window the page is
    zero. None for an instruction without accesses. `whole` says that the whole page is
    observed, not only the window.
    """

    registers: dict[str, int]
    window: tuple[int, bytes] | None
    whole: bool

    @property
    def observed(self) -> tuple[int, int] | None:
        """(address, size) of the memory to compare."""
        if self.window is None:
            return None
        address, data = self.window
        if self.whole:
            return address // qemu.PAGE * qemu.PAGE, qemu.PAGE
        return address, len(data)


def _corner(rng: random.Random, bits: int) -> int:
    """A value at which instructions change their behaviour; of `bits` bits."""
    ones = (1 << bits) - 1
    choice = rng.randrange(8)
    if choice == 0:
        return rng.choice((0, 1, 2, ones, ones - 1)) & ones
    if choice == 1:
        return 1 << rng.randrange(bits)
    if choice == 2:
        return ones ^ 1 << rng.randrange(bits)
    if choice == 3:
        return (1 << rng.randrange(bits)) - 1
    if choice == 4:
        # The ends of the signed and unsigned ranges of 8, 16, 32 and 64 bits, and their neighbours.
        return (1 << rng.choice((7, 8, 15, 16, 31, 32, 63))) + rng.randrange(-2, 2) & ones
    if choice == 5:
        # A word whose sign does not extend, or does, into what is above it.
        word = rng.choice((0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0, rng.getrandbits(32)))
        return (rng.choice((0, 0xFFFFFFFF, 1, 0x80000000)) << 32 | word) & ones
    if choice == 6:
        # Small numbers: shift amounts, counters and carries.
        return rng.randrange(130) & ones
    return (ones - rng.randrange(130)) & ones


class States:
    """Makes states for one architecture, reproducibly."""

    def __init__(self, registers: Registers, rng: random.Random) -> None:
        self._registers = registers
        self._rng = rng
        self._data_pages = [page for page in _DATA_PAGES if page < registers.usable[1]]
        self._targets = [target for target in _TARGETS if target < registers.usable[1]]
        self._backgrounds = [self._background(n) for n in range(BACKGROUNDS)]

    def _background(self, number: int) -> dict[str, int]:
        rng = self._rng
        return {
            name: bits & (rng.getrandbits(width) if number % 2 else _corner(rng, width))
            for name, bits in self._registers.settable.items()
            for width in (max(1, bits.bit_length()),)
        }

    def make(self, reading: Reading, number: int) -> State:
        """State `number` for an instruction; raises Unplaceable."""
        for _ in range(_ATTEMPTS):
            state = dict(self._backgrounds[number % BACKGROUNDS])
            self._draw(state, reading, number)
            whole = number % WHOLE_PAGE_EVERY == 0
            window = self._place(state, reading)
            if window is not None or not any(path.touches for path in reading.paths):
                return State(state, window, whole)
        raise Unplaceable

    def _draw(self, state: dict[str, int], reading: Reading, number: int) -> None:
        rng, manner, inputs = self._rng, number % 8, reading.inputs
        if number < len(_SAME_IN_ALL):
            for name in inputs:
                self._registers.set(state, name, _SAME_IN_ALL[number] * (1 | 1 << 64))
            self._restrict(state)
            return
        same = _corner(rng, 64) if manner & 1 else rng.getrandbits(64)
        for name in inputs:
            if manner < 2:
                value = rng.getrandbits(128)
            elif manner == 2:
                value = same | same << 64
            elif manner == 3 and reading.bounds:
                turn, which = divmod(number // 8, len(reading.bounds))
                value = reading.bounds[which] + (0, 1, -1)[turn % 3] & (1 << 128) - 1
            elif manner < 6:
                value = _corner(rng, 64) | _corner(rng, 64) << 64
            else:
                value = (
                    rng.choice((same, same + 1, same - 1, rng.getrandbits(128))) & (1 << 128) - 1
                )
            self._registers.set(state, name, value)
        self._restrict(state)

    def _restrict(self, state: dict[str, int]) -> None:
        """Clear the bits that may not be set."""
        for name, bits in self._registers.restricted.items():
            state[name] &= bits

    def _place(self, state: dict[str, int], reading: Reading) -> tuple[int, bytes] | None:
        """Steer the accesses, and the targets of indirect branches; the window of the accesses."""
        rng = self._rng
        touches = [touch for path in reading.paths for touch in path.touches]
        loads = {touch.value: touch for touch in touches if not touch.write}
        targets: list[tuple[Touch, int]] = []
        for path in reading.paths:
            if path.target.value is None:
                wanted = rng.choice(self._targets) + 4 * rng.randrange(0x800)
                if path.target in loads:
                    targets.append((loads[path.target], wanted))
                elif not self._steer(state, path.target, wanted):
                    raise Unplaceable
        if not touches:
            return None
        start, size = self._window(state, touches[0])
        for touch in touches:
            if not start <= self._evaluate(state, touch.address) <= start + size - touch.size:
                self._steer(state, touch.address, start + rng.randrange(size - touch.size + 1))
        data = bytearray(rng.randbytes(size))
        for touch in touches:
            at = self._evaluate(state, touch.address) - start
            if not 0 <= at <= size - touch.size:
                raise Unplaceable
            for load, wanted in targets:
                if load is touch:
                    data[at : at + touch.size] = wanted.to_bytes(
                        touch.size, self._registers.byte_order
                    )
        return start, bytes(data)

    def _window(self, state: dict[str, int], touch: Touch) -> tuple[int, int]:
        """(address, size) of a window around an access that is steered into a page of data, or that
        is where it is whatever registers hold; raises Unplaceable."""
        rng, fixed = self._rng, touch.address.value
        if fixed is not None:
            page = fixed // qemu.PAGE * qemu.PAGE
            lowest, end = self._registers.usable
            if not lowest <= page < end:
                raise Unplaceable
            start = max(page, fixed - WINDOW // 2)
            return start, min(page + qemu.PAGE, fixed + WINDOW // 2) - start
        place = rng.choice(self._data_pages) + rng.randrange(_MARGIN, qemu.PAGE - _MARGIN)
        if rng.getrandbits(1):
            place &= ~15
        # Where registers count several times, the address is a multiple of that.
        if not any(self._steer(state, touch.address, place + n) for n in range(8)):
            raise Unplaceable
        return place - WINDOW // 2, WINDOW

    def _steer(self, state: dict[str, int], term: Term, wanted: int) -> bool:
        """Change one input register so that `term` becomes `wanted`; whether that worked.

        Looks through sums and through masks; what a mask clears is cleared in `wanted`, too.
        """
        rng = self._rng
        if term.op == "bvand":
            mask, inner = sorted(term.args, key=lambda arg: arg.value is None)
            if mask.value is None:
                return False
            wanted = wanted & mask.value | rng.getrandbits(term.width) & ~mask.value
            return self._steer(state, inner, wanted & (1 << term.width) - 1)
        form = linear(term)
        atoms = list(form.coefficients)
        rng.shuffle(atoms)
        for atom in atoms:
            rest = form.without(atom).term()
            value = self._evaluate(state, rest)
            left = (wanted - value) & (1 << term.width) - 1
            factor = form.coefficients[atom]
            step = factor & -factor
            if left % step:
                continue
            left = left // step * pow(factor // step, -1, 1 << term.width)
            left &= (1 << term.width) - 1
            if atom.op != "var":
                if atom is not term and self._steer(state, atom, left):
                    return True
                continue
            name = self._registers.name(atom)
            if name is not None:
                self._registers.set(state, name, left)
                return True
        return False

    def _evaluate(self, state: Mapping[str, int], term: Term) -> int:
        """The value of a term over the initial registers; raises Unplaceable for any other."""
        free = variables((term,))
        if any(self._registers.name(variable) is None for variable in free):
            raise Unplaceable
        values = self._registers.assignment(state, free)
        return evaluate((term,), values)[term]
