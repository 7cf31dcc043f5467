"""Linear forms: what an address or an induction variable is, up to arithmetic modulo 2^width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from verify.terms.term import Term, add, binary, const, signed


@dataclass(frozen=True)
class Linear:
    """constant + the sum of coefficient * atom, modulo 2^width.

    Atoms are terms that are no sum themselves (mostly variables); coefficients are non-zero
    and, like the constant, taken modulo 2^width and read as signed numbers.
    """

    width: int
    constant: int
    coefficients: Mapping[Term, int] = field(default_factory=dict)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """self + factor * other."""
        return _make(
            self.width,
            self.constant + factor * other.constant,
            {
                atom: self.coefficients.get(atom, 0) + factor * other.coefficients.get(atom, 0)
                for atom in (*self.coefficients, *other.coefficients)
            },
        )

    def without(self, atom: Term) -> Linear:
        """The same sum without the multiple of `atom`."""
        rest = {other: k for other, k in self.coefficients.items() if other is not atom}
        return Linear(self.width, self.constant, rest)

    @property
    def is_constant(self) -> bool:
        """Whether no atom occurs."""
        return not self.coefficients

    def term(self) -> Term:
        """The linear form as a term."""
        result = const(self.constant, self.width)
        for atom, factor in self.coefficients.items():
            scaled = atom if factor == 1 else binary("bvmul", atom, const(factor, self.width))
            result = scaled if result.value == 0 else add(result, scaled)
        return result

    def __hash__(self) -> int:
        return hash((self.width, self.constant, frozenset(self.coefficients.items())))


def _make(width: int, constant: int, coefficients: Mapping[Term, int]) -> Linear:
    mask = (1 << width) - 1
    kept = {atom: signed(k & mask, width) for atom, k in coefficients.items() if k & mask}
    return Linear(width, signed(constant & mask, width), kept)


@lru_cache(maxsize=1 << 14)
def linear(term: Term) -> Linear:
    """The linear form of a bit-vector term; a term that is no sum is an atom of its own.

    Sums, differences, and products and left shifts by constants are looked through. Exact:
    the result is equal to `term` for every assignment.
    """
    match term.op:
        case "const":
            assert isinstance(term.data, int)
            return _make(term.width, term.data, {})
        case "bvadd":
            return linear(term.args[0]).plus(linear(term.args[1]))
        case "bvsub":
            return linear(term.args[0]).plus(linear(term.args[1]), -1)
        case "bvmul" | "bvshl":
            factor = term.args[1].value
            if factor is not None:
                zero = Linear(term.width, 0)
                # A shift by the width or more leaves nothing.
                scale = factor if term.op == "bvmul" else 1 << min(factor, term.width)
                return zero.plus(linear(term.args[0]), scale)
            if term.op == "bvmul" and (factor := term.args[0].value) is not None:
                return Linear(term.width, 0).plus(linear(term.args[1]), factor)
    return _make(term.width, 0, {term: 1})
