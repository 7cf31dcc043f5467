"""One way through a piece of code in a function and in its mutant, where others may use the memory
between any two accesses.

Accesses relative to the stack pointer are the function's own. All others are in the same order in
both, and what the n-th of them loads is anything, but the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping

from verify.arch import Architecture
from verify.lift.generic import Touch
from verify.mutate.effect import INITIAL, Way
from verify.mutate.traces import place
from verify.terms import Term, conjunction, definitions, equal, substitute


class OrderedPair:
    """One way through a block in both functions; as `verify.mutate.pair.Pair` but for memory."""

    def __init__(
        self,
        ours: Way,
        theirs: Way,
        mappings: tuple[Mapping[Term, Term], Mapping[Term, Term]],
        assumptions: list[Term],
        architecture: Architecture,
    ) -> None:
        self.ours, self.theirs = ours, theirs
        self._assumptions = assumptions
        first, second = mappings
        stack = architecture.register(architecture.stack_pointer)
        pairs = _paired(ours.touches, theirs.touches, f"{INITIAL}{stack.storage}")
        self._paired = pairs is not None
        loaded = {
            two.value: one.value for one, two in pairs or () if not one.write and one is not two
        }
        # What is loaded may have the name of another load of the other function. What the manual
        # leaves undefined has one name: whatever it is in the mutant, it may be in the function.
        both = {**second, **loaded}

        def read(*terms: Term) -> list[Term]:
            return substitute(terms, both)

        names = list(ours.registers)
        one_values = substitute([ours.registers[name] for name in names], first)
        two_values = read(*(theirs.registers[name] for name in names))
        self.values = {
            name: values for name, *values in zip(names, one_values, two_values, strict=True)
        }
        guard, target = substitute([ours.guard, ours.target], first)
        other_guard, other_target = read(theirs.guard, theirs.target)
        self._way = conjunction((equal(guard, other_guard), equal(target, other_target)))
        self._accesses = conjunction(
            equal(a, b)
            for one, two in pairs or ()
            for a, b in zip(
                substitute(_terms(one), first), substitute(_terms(two), both), strict=True
            )
        )

    def same_way(self) -> Term:
        """Both take it, to the same target, or neither does."""
        return self._way

    def same_accesses(self) -> bool:
        """Whether they access memory as often, in the same order, by accesses of the same size."""
        return self._paired

    def same_memory(self) -> bool:
        """Whether addresses and what is stored are the same, whatever the values."""
        return self._accesses.value == 1

    def script(self, claim: Term, *, memory: bool) -> str:
        """SMT-LIB 2.6 in QF_BV that is unsatisfiable if the claim holds, and with `memory` if
        addresses and what is stored are also the same."""
        wanted = conjunction((claim, self._accesses)) if memory else claim
        lines, names = definitions([wanted, *self._assumptions])
        lines += [f"(assert {names[term]})" for term in self._assumptions]
        lines.append(f"(assert (not {names[wanted]}))")
        return "\n".join(["(set-logic QF_BV)", *lines, ""])


def _terms(touch: Touch) -> list[Term]:
    return [touch.address, touch.value] if touch.write else [touch.address]


def _paired(
    ours: tuple[Touch, ...], theirs: tuple[Touch, ...], pointer: str
) -> list[tuple[Touch, Touch]] | None:
    """The accesses that correspond; None where one has no other."""
    (own, shared), (their_own, their_shared) = (
        ([t for t in all_ if _is_own(t, pointer)], [t for t in all_ if not _is_own(t, pointer)])
        for all_ in (ours, theirs)
    )
    if _free(own) and _free(their_own):
        own, their_own = sorted(own, key=_offset), sorted(their_own, key=_offset)
    pairs = [*zip(own, their_own, strict=False), *zip(shared, their_shared, strict=False)]
    same = all(one.write is two.write and one.size == two.size for one, two in pairs)
    counted = (len(own), len(shared)) == (len(their_own), len(their_shared))
    return pairs if same and counted else None


def _is_own(touch: Touch, pointer: str) -> bool:
    """Whether an access is at a constant from the stack pointer."""
    base, _ = place(touch)
    return len(base) == 1 and all(term.name == pointer and times == 1 for term, times in base)


def _offset(touch: Touch) -> tuple[int, int, bool]:
    return place(touch)[1], touch.size, touch.write


def _free(own: list[Touch]) -> bool:
    """Whether the order of accesses to the stack does not matter: no two of them overlap."""
    if not own:
        return True
    whole = 1 << own[0].address.width
    ends = [(place(touch)[1], touch.size) for touch in own]
    return all(
        size <= (other - first) % whole <= whole - other_size
        for number, (first, size) in enumerate(ends)
        for other, other_size in ends[number + 1 :]
    )
