"""Bit-vector terms: the one language in which lifted code and specification meet.

A term is an immutable, interned node of a directed acyclic graph whose operators are those of
SMT-LIB's theory of fixed-size bit-vectors (QF_BV) and of the Booleans. Nothing in this package
knows of angr, of an architecture or of ChaCha20.
"""

from verify.terms.bounds import upper_bounds, with_known_bounds
from verify.terms.evaluate import evaluate
from verify.terms.linear import Linear, linear
from verify.terms.smt import definitions, to_smtlib, to_z3
from verify.terms.term import (
    FALSE,
    TRUE,
    Term,
    add,
    binary,
    concat,
    conjunction,
    const,
    disjunction,
    equal,
    extract,
    iff_else,
    negate,
    postorder,
    reverse_bytes,
    rotate_left,
    sign_extend,
    substitute,
    subtract,
    unsigned_less,
    unsigned_less_equal,
    var,
    variables,
    zero_extend,
)

__all__ = [
    "FALSE",
    "TRUE",
    "Linear",
    "Term",
    "add",
    "binary",
    "concat",
    "conjunction",
    "const",
    "definitions",
    "disjunction",
    "equal",
    "evaluate",
    "extract",
    "iff_else",
    "linear",
    "negate",
    "postorder",
    "reverse_bytes",
    "rotate_left",
    "sign_extend",
    "substitute",
    "subtract",
    "to_smtlib",
    "to_z3",
    "unsigned_less",
    "unsigned_less_equal",
    "upper_bounds",
    "var",
    "variables",
    "with_known_bounds",
    "zero_extend",
]
