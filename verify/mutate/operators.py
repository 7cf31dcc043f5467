"""Making the mutants of a function on the encoding of its instructions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from verify.mutate.model import Mutant, Operator
from verify.mutate.siblings import Siblings, siblings_of
from verify.target import Target
from verify.validate.encodings import Encoding, encoding_of

Code = tuple[int, bytes]
"""Address and bytes of one instruction."""


def mutants_of(target: Target, instructions: Sequence[int], seed: int = 0) -> tuple[Mutant, ...]:
    """Every mutant of the instructions at these addresses, in the order of operators and addresses.

    A register operand is replaced once, by a register that another operand of the function names;
    `seed` chooses it. Everything else is replaced by all that it can be. Raises KeyError where
    the architecture's encodings or related opcodes are not known.
    """
    maker = _Maker(target, instructions, seed)
    found: dict[tuple[int, bytes], Mutant] = {}
    for operator, make in maker.operators.items():
        for address, before, after in make():
            if before != after:
                found.setdefault((address, after), Mutant(operator, address, before, after))
    order = list(Operator)
    return tuple(sorted(found.values(), key=lambda mutant: order.index(mutant.operator)))


def sample(mutants: Sequence[Mutant], count: int | None, seed: int) -> tuple[Mutant, ...]:
    """`count` of the mutants in their order, the same ones for the same seed; None means all."""
    if count is None or count >= len(mutants):
        return tuple(mutants)
    chosen = random.Random(seed).sample(range(len(mutants)), count)
    return tuple(mutants[index] for index in sorted(chosen))


Change = tuple[int, bytes, bytes]


class _Maker:
    """One method for each operator: address, bytes before and after."""

    def __init__(self, target: Target, instructions: Sequence[int], seed: int) -> None:
        architecture = target.architecture
        self._encoding: Encoding = encoding_of(
            architecture.instruction_set, architecture.byte_order
        )
        self._siblings: Siblings = siblings_of(architecture.instruction_set)
        self._rng = random.Random(seed)
        self._code: list[Code] = []
        for address in sorted(set(instructions)):
            code = target.code(address, target.instruction_size(address))
            if code is not None:
                self._code.append((address, code))
        self._used = sorted({number for _, code in self._code for number in self._numbers(code)})
        # A change that two make is that of the first: a condition may be an operand, too.
        self.operators: dict[Operator, Callable[[], Iterator[Change]]] = {
            Operator.DELETE: self._deleted,
            Operator.SWAP: self._swapped,
            Operator.BRANCH: lambda: self._related(Operator.BRANCH),
            Operator.REGISTER: self._registers,
            Operator.IMMEDIATE: self._immediates,
            Operator.WIDTH: lambda: self._related(Operator.WIDTH),
            Operator.SIBLING: lambda: self._related(Operator.SIBLING),
        }

    def _bytes(self, word: int, size: int) -> bytes:
        return word.to_bytes(size, self._encoding.order)

    def _numbers(self, code: bytes) -> Iterator[int]:
        """The register numbers that an instruction names."""
        word = self._encoding.word(code)
        for low, width in self._encoding.format(code).registers:
            yield word >> low & (1 << width) - 1

    def _deleted(self) -> Iterator[Change]:
        for address, code in self._code:
            yield address, code, self._bytes(self._siblings.nops[len(code)], len(code))

    def _swapped(self) -> Iterator[Change]:
        for (address, code), (behind, following) in zip(self._code, self._code[1:], strict=False):
            if address + len(code) == behind:
                yield address, code + following, following + code

    def _registers(self) -> Iterator[Change]:
        for address, code in self._code:
            word = self._encoding.word(code)
            for low, width in self._encoding.format(code).registers:
                mask = (1 << width) - 1
                fits = [
                    self._bytes(word & ~(mask << low) | n << low, len(code))
                    for n in self._used
                    if n <= mask and n != word >> low & mask
                ]
                while fits:
                    after = self._rng.choice(fits)
                    if self._same_form(code, after):
                        yield address, code, after
                        break
                    fits.remove(after)

    def _immediates(self) -> Iterator[Change]:
        for address, code in self._code:
            word = self._encoding.word(code)
            for low, width in self._encoding.format(code).immediates:
                for bit in range(low, low + width):
                    after = self._bytes(word ^ 1 << bit, len(code))
                    if self._same_form(code, after):
                        yield address, code, after

    def _same_form(self, code: bytes, after: bytes) -> bool:
        """Whether it is the same operation, of the same length, on other operands: a number may
        mean another one, as where it says that a byte follows."""
        return self._encoding.form(after) == self._encoding.form(code)

    def _related(self, operator: Operator) -> Iterator[Change]:
        groups = self._siblings.groups[operator]
        for address, code in self._code:
            form = self._encoding.form(code)
            operands = self._encoding.word(code) & ~form.mask
            for group in groups:
                if form.opcode in group:
                    for opcode in group:
                        yield address, code, self._bytes(opcode | operands, len(code))
            for kind, after in self._siblings.others(code):
                if kind is operator:
                    yield address, code, after
