"""Which variables may hold a secret, and whether a value depends on one.

Secret are the key words, what was read from dst, what was read through an address that is not
known, and every variable for what is not known at the loop's head, if its location can hold
something secret there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from verify.prove.explore import Path
from verify.prove.induction import Loop
from verify.prove.invariants import FRESH, Invariant, Location, read
from verify.prove.segments import Segments
from verify.terms import TRUE, Term, equal, extract, postorder, substitute, var, variables

_UNKNOWN = ("load@", "dst")
"""Prefixes of the variables for contents that the contract does not declare public."""


@lru_cache(maxsize=2)
def secret_variables(segments: Segments) -> frozenset[Term]:
    """The key words, and the variables of the loop's head whose locations can hold a secret."""
    key = frozenset(segments.names.key)
    return key | _dirty_at_head(segments, key)


def _dirty_at_head(segments: Segments, key: frozenset[Term]) -> frozenset[Term]:
    """The least set of loop variables closed under: an arrival at the head puts something there
    that contains a secret variable."""
    loop = segments.loop
    if loop is None:
        return frozenset()
    arrivals = [path for path in segments.entry.paths if path.end == "cut"]
    arriving = _arriving(loop, [*arrivals, *loop.arrivals])
    dirty: frozenset[Term] = frozenset()
    while True:
        secret = key | dirty
        tainted = secret_terms((value for values in arriving.values() for value in values), secret)
        found = frozenset(
            unknown
            for unknown, values in arriving.items()
            if any(value in tainted for value in values)
        )
        if found <= dirty:
            return dirty
        dirty |= found


def secret_terms(roots: Iterable[Term], secret: frozenset[Term]) -> set[Term]:
    """All terms below the roots that contain a variable that may hold a secret."""
    found: set[Term] = set()
    for term in postorder(roots):
        inside = is_secret(term, secret) if term.op == "var" else not found.isdisjoint(term.args)
        if inside:
            found.add(term)
    return found


def _arriving(loop: Loop, arrivals: Iterable[Path]) -> Mapping[Term, list[Term]]:
    """For each variable of the loop's head, what the arrivals put there."""
    paths = list(arrivals)
    return {
        unknown: [extract(_arrived(path, invariant.location), high, low) for path in paths]
        for invariant in loop.invariants
        for unknown, high, low in unknown_parts(invariant)
    }


def _arrived(path: Path, location: Location) -> Term:
    return read(path.machine, location)


def unknown_parts(invariant: Invariant) -> Iterable[tuple[Term, int, int]]:
    """(variable, high bit, low bit) of what is not known of a location."""
    value = invariant.value
    position = value.width
    for part in value.args if value.op == "concat" else (value,):
        position -= part.width
        if part.op == "var" and part.name.startswith(FRESH):
            yield part, position + part.width - 1, position


def is_secret(variable: Term, secret: frozenset[Term]) -> bool:
    """Whether a variable may hold a secret."""
    return variable in secret or (variable.name.startswith(_UNKNOWN) and variable.name != "dst")


def secrets_in(terms: Iterable[Term], secret: frozenset[Term]) -> list[Term]:
    """The variables of the terms that may hold a secret, by name."""
    found = [v for v in variables(terms) if is_secret(v, secret)]
    return sorted(found, key=lambda v: v.name)


def independent(value: Term, secret: Iterable[Term]) -> Term:
    """That a value (or Boolean) is the same whatever the given variables hold.

    TRUE when none occurs in it; else the comparison of two runs with the same public inputs.
    """
    other = {v: var(f"{v.name}'", v.width) for v in secret if v in variables([value])}
    if not other:
        return TRUE
    (twin,) = substitute([value], other)
    return equal(value, twin)
