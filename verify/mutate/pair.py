"""One way through a piece of code in a function and in its mutant, as questions to a solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from verify.arch import Architecture
from verify.lift.generic import Touch
from verify.lift.machine import UNDEFINED
from verify.mutate.effect import INITIAL, Way
from verify.mutate.traces import Base, Memory, place
from verify.terms import Term, conjunction, definitions, equal, substitute, var, variables


def _undefined(way: Way) -> dict[Term, Term]:
    """Variables of its own for what the manual leaves undefined: it may differ each time."""
    return {v: var(f"{v.name}'", v.width) for v in way.read if v.name.startswith(UNDEFINED)}


class _Read:
    """A way with its terms read under a mapping."""

    def __init__(self, way: Way, mapping: Mapping[Term, Term]) -> None:
        def read(*terms: Term) -> list[Term]:
            return substitute(terms, mapping)

        self.guard, self.target = read(way.guard, way.target)
        self.registers = dict(zip(way.registers, read(*way.registers.values()), strict=True))
        self.touches = [
            Touch(touch.write, address, touch.size, value)
            for touch in way.touches
            for address, value in (read(touch.address, touch.value),)
        ]


class Pair:
    """One way through a block in both functions, the mutant's in variables of its own where it
    may differ. `mappings` say what is to be read for their initial variables."""

    def __init__(
        self,
        ours: Way,
        theirs: Way,
        mappings: tuple[Mapping[Term, Term], Mapping[Term, Term]],
        assumptions: list[Term],
        architecture: Architecture,
        apart: frozenset[Term],
    ) -> None:
        self.ours, self.theirs = ours, theirs
        self._assumptions = assumptions
        self._architecture = architecture
        self._memory = Memory(architecture.byte_order, architecture.bits, apart)
        first, second = mappings
        sides = ((ours, {**first}), (theirs, {**second, **_undefined(theirs)}))
        self._ends = [self._memory.follow(way.touches, mapping) for way, mapping in sides]
        one, two = (_Read(way, mapping) for way, mapping in sides)
        self._one, self._two = one, two
        names = zip(one.registers, two.registers.values(), strict=True)
        self.values = {name: (one.registers[name], value) for name, value in names}

    def same_way(self) -> Term:
        """Both take it, to the same target, or neither does."""
        one, two = self._one, self._two
        return conjunction((equal(one.guard, two.guard), equal(one.target, two.target)))

    def same_accesses(self) -> bool:
        """Whether the mutant reads only bytes that the function reads, and writes only bytes that
        the function writes, to the stack exactly the same."""
        ours, theirs = self._one.touches, self._two.touches
        stack = self._architecture.register(self._architecture.stack_pointer)
        pointer = f"{INITIAL}{stack.storage}"
        return all(
            _bytes(theirs, write=write) <= _bytes(ours, write=write) for write in (False, True)
        ) and _stack(ours, pointer) == _stack(theirs, pointer)

    def same_memory(self) -> bool:
        """Whether both leave the same memory whatever the values."""
        return self._ends[0] == self._ends[1]

    def script(self, claim: Term, *, memory: bool) -> str:
        """SMT-LIB 2.6 in QF_ABV that is unsatisfiable if the claim holds, and with `memory` if
        both also leave the same memory."""
        lines, names = definitions([claim, *self._assumptions, *self._memory.roots])
        lines += self._memory.commands(names)
        wanted = names[claim]
        if memory:
            wanted = f"(and {wanted} (= m{self._ends[0]} m{self._ends[1]}))"
        lines += [f"(assert {names[term]})" for term in self._assumptions]
        lines.append(f"(assert (not {wanted}))")
        return "\n".join(["(set-logic QF_ABV)", *lines, ""])


def _bytes(touched: Iterable[Touch], *, write: bool) -> set[tuple[Base, int]]:
    """The bytes written, or those read."""
    found = set()
    for touch in touched:
        if touch.write is write:
            base, offset = place(touch)
            found |= {(base, offset + index) for index in range(touch.size)}
    return found


def _stack(touched: Iterable[Touch], pointer: str) -> Counter[tuple[Base, int, Term]]:
    """The stores relative to the stack pointer, with their values."""
    return Counter(
        (*place(touch), touch.value)
        for touch in touched
        if touch.write and any(v.name.rstrip("'") == pointer for v in variables([touch.address]))
    )


def unsatisfiable(script: str, seconds: float) -> bool:
    """Whether Bitwuzla finds that the assertions contradict each other."""
    import bitwuzla

    manager, options = bitwuzla.TermManager(), bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, max(1, int(1000 * seconds)))
    parser = bitwuzla.Parser(manager, options)
    parser.parse(script, parse_only=True, parse_file=False)
    return bool(parser.bitwuzla().check_sat() == bitwuzla.Result.UNSAT)
