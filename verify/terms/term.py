"""The term graph: nodes, constructors, traversal and substitution.

Constructors fold constants and remove operators that do nothing (an extract of the whole, an
extension by no bits, an extract that leaves out parts of a concatenation or an extension); they
rewrite nothing else, so that a reader finds in a formula what the code did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from weakref import WeakValueDictionary

BOOL = 0
"""Width of a Boolean term; bit-vectors have a width of one bit or more."""


class Term:
    """One operator applied to argument terms.

    `op` is the SMT-LIB operator name, or `const` / `var`. `width` is in bits, 0 for a Boolean.
    `data` holds what is not a term: the value of a constant, the name of a variable, the
    (high, low) of an extract, the amount of a rotate or an extension. Interned: equal terms are
    the same object, so identity is structural equality.
    """

    __slots__ = ("__weakref__", "args", "data", "op", "width")

    op: str
    width: int
    args: tuple[Term, ...]
    data: object

    def __repr__(self) -> str:
        return self.text(5)

    def text(self, depth: int) -> str:
        """The term in prefix notation, what lies deeper than `depth` as an ellipsis."""
        if self.op == "const":
            return f"{self.data:#x}:{self.width}" if self.width else str(bool(self.data)).lower()
        if self.op == "var":
            return str(self.data)
        if not depth:
            return "..."
        inner = " ".join(arg.text(depth - 1) for arg in self.args)
        return f"({self.op}{'' if self.data is None else self.data} {inner})"

    @property
    def value(self) -> int | None:
        """The unsigned value of a constant (0 or 1 for a Boolean), None for any other term."""
        return self.data if self.op == "const" and isinstance(self.data, int) else None

    @property
    def name(self) -> str:
        """The name of a variable; raises ValueError for any other term."""
        if self.op != "var" or not isinstance(self.data, str):
            raise ValueError(f"not a variable: {self!r}")
        return self.data

    @property
    def bounds(self) -> tuple[int, int]:
        """(high, low) of an extract, both inclusive; raises ValueError for any other term."""
        if self.op != "extract" or not isinstance(self.data, tuple):
            raise ValueError(f"not an extract: {self!r}")
        return self.data

    @property
    def amount(self) -> int:
        """Bits of a rotate or of an extension; raises ValueError for any other term."""
        if self.op == "const" or not isinstance(self.data, int):
            raise ValueError(f"no amount: {self!r}")
        return self.data


_interned: WeakValueDictionary[tuple[object, ...], Term] = WeakValueDictionary()


def _node(op: str, width: int, args: tuple[Term, ...] = (), data: object = None) -> Term:
    key = (op, width, data, *map(id, args))
    found = _interned.get(key)
    if found is None:
        found = Term()
        found.op, found.width, found.args, found.data = op, width, args, data
        _interned[key] = found
    return found


def const(value: int, width: int) -> Term:
    """The constant `value` modulo 2^width; width 0 makes a Boolean."""
    return _node("const", width, (), value & ((1 << width) - 1) if width else int(bool(value)))


TRUE = const(1, BOOL)
FALSE = const(0, BOOL)


def var(name: str, width: int) -> Term:
    """A free variable of `width` bits; the same name and width give the same variable."""
    return _node("var", width, (), name)


def signed(value: int, width: int) -> int:
    """The two's complement reading of an unsigned `width`-bit value."""
    return value - (1 << width) if value >> (width - 1) else value


def _shift_right_arithmetic(a: int, b: int, w: int) -> int:
    return (signed(a, w) >> min(b, w)) & ((1 << w) - 1)


BINARY: Mapping[str, Callable[[int, int, int], int]] = {
    "bvadd": lambda a, b, w: (a + b) & ((1 << w) - 1),
    "bvsub": lambda a, b, w: (a - b) & ((1 << w) - 1),
    "bvmul": lambda a, b, w: (a * b) & ((1 << w) - 1),
    "bvudiv": lambda a, b, w: a // b if b else (1 << w) - 1,
    "bvurem": lambda a, b, w: a % b if b else a,
    "bvand": lambda a, b, w: a & b,
    "bvor": lambda a, b, w: a | b,
    "bvxor": lambda a, b, w: a ^ b,
    "bvshl": lambda a, b, w: (a << b) & ((1 << w) - 1) if b < w else 0,
    "bvlshr": lambda a, b, w: a >> b if b < w else 0,
    "bvashr": _shift_right_arithmetic,
}
"""Value of each operator from two `w`-bit values to one, as SMT-LIB's QF_BV defines it."""

COMPARE: Mapping[str, Callable[[int, int, int], bool]] = {
    "=": lambda a, b, w: a == b,
    "bvult": lambda a, b, w: a < b,
    "bvule": lambda a, b, w: a <= b,
    "bvslt": lambda a, b, w: signed(a, w) < signed(b, w),
    "bvsle": lambda a, b, w: signed(a, w) <= signed(b, w),
}
"""Truth of each predicate on two `w`-bit values, as SMT-LIB's QF_BV defines it."""


def binary(op: str, a: Term, b: Term) -> Term:
    """`op` (a key of BINARY or COMPARE) applied to two terms of one width."""
    if a.width != b.width:
        raise ValueError(f"{op}: widths {a.width} and {b.width} differ")
    fold = BINARY.get(op)
    if a.op == "const" and b.op == "const":
        left, right = a.data, b.data
        assert isinstance(left, int) and isinstance(right, int)
        if fold is not None:
            return const(fold(left, right, a.width), a.width)
        return const(COMPARE[op](left, right, a.width), BOOL)
    if op == "=" and a is b:
        return TRUE
    if fold is None and op not in COMPARE:
        raise ValueError(f"unknown operator {op}")
    return _node(op, a.width if fold is not None else BOOL, (a, b))


def add(a: Term, b: Term) -> Term:
    """a + b modulo 2^width."""
    return binary("bvadd", a, b)


def subtract(a: Term, b: Term) -> Term:
    """a - b modulo 2^width."""
    return binary("bvsub", a, b)


def equal(a: Term, b: Term) -> Term:
    """a = b, for two bit-vectors or two Booleans of one width."""
    return binary("=", a, b)


def unsigned_less(a: Term, b: Term) -> Term:
    """a < b, unsigned."""
    return binary("bvult", a, b)


def unsigned_less_equal(a: Term, b: Term) -> Term:
    """a <= b, unsigned."""
    return binary("bvule", a, b)


def complement(a: Term) -> Term:
    """Bitwise complement."""
    return const(~a.value, a.width) if a.value is not None else _node("bvnot", a.width, (a,))


def rotate_left(a: Term, amount: int) -> Term:
    """`a` rotated left by a constant number of bits."""
    amount %= a.width
    if a.value is not None:
        return const((a.value << amount) | (a.value >> (a.width - amount)), a.width)
    return _node("rotate_left", a.width, (a,), amount) if amount else a


def zero_extend(a: Term, bits: int) -> Term:
    """`a` with `bits` zero bits in front."""
    if a.value is not None:
        return const(a.value, a.width + bits)
    return _node("zero_extend", a.width + bits, (a,), bits) if bits else a


def sign_extend(a: Term, bits: int) -> Term:
    """`a` with `bits` copies of its highest bit in front."""
    if a.value is not None:
        return const(signed(a.value, a.width), a.width + bits)
    return _node("sign_extend", a.width + bits, (a,), bits) if bits else a


def extract(a: Term, high: int, low: int) -> Term:
    """Bits high..low of `a`, both inclusive, bit 0 the least significant."""
    if not 0 <= low <= high < a.width:
        raise ValueError(f"extract {high}..{low} of {a.width} bits")
    if low == 0 and high == a.width - 1:
        return a
    if a.value is not None:
        return const(a.value >> low, high - low + 1)
    if a.op == "extract":
        base = a.bounds[1]
        return extract(a.args[0], high + base, low + base)
    if a.op == "concat":
        position = a.width
        covered = []
        for part in a.args:
            position -= part.width
            if position <= high and low < position + part.width:
                top, bottom = min(high - position, part.width - 1), max(low - position, 0)
                covered.append(extract(part, top, bottom))
        return concat(*covered)
    if a.op in ("zero_extend", "sign_extend") and high < a.args[0].width:
        return extract(a.args[0], high, low)
    if a.op == "zero_extend" and low >= a.args[0].width:
        return const(0, high - low + 1)
    return _node("extract", high - low + 1, (a,), (high, low))


def _joined(upper: Term, lower: Term) -> Term | None:
    """The one term that `upper` in front of `lower` is, if they are neighbours in a whole."""
    if upper.value is not None and lower.value is not None:
        return const((upper.value << lower.width) | lower.value, upper.width + lower.width)
    if upper.op == lower.op == "extract" and upper.args[0] is lower.args[0]:
        (high, middle), (below, low) = upper.bounds, lower.bounds
        if middle == below + 1:
            return extract(upper.args[0], high, low)
    return None


def concat(*parts: Term) -> Term:
    """The parts one behind the other, the first the most significant."""
    flat: list[Term] = []
    for part in parts:
        for piece in part.args if part.op == "concat" else (part,):
            joined = _joined(flat[-1], piece) if flat else None
            if joined is not None:
                flat[-1] = joined
            else:
                flat.append(piece)
    if len(flat) == 1:
        return flat[0]
    return _node("concat", sum(part.width for part in flat), tuple(flat))


def reverse_bytes(a: Term) -> Term:
    """`a` with its bytes in the opposite order."""
    return concat(*(extract(a, low + 7, low) for low in range(0, a.width, 8)))


def iff_else(condition: Term, then: Term, other: Term) -> Term:
    """`then` where the Boolean `condition` holds, else `other`."""
    if condition.value is not None:
        return then if condition.value else other
    return then if then is other else _node("ite", then.width, (condition, then, other))


def negate(a: Term) -> Term:
    """Boolean negation."""
    if a.value is not None:
        return const(not a.value, BOOL)
    return a.args[0] if a.op == "not" else _node("not", BOOL, (a,))


def _connective(op: str, neutral: Term, absorbing: Term, terms: Iterable[Term]) -> Term:
    parts: dict[Term, None] = {}
    for term in terms:
        if term is absorbing:
            return absorbing
        if term is not neutral:
            parts[term] = None
    if not parts:
        return neutral
    return next(iter(parts)) if len(parts) == 1 else _node(op, BOOL, tuple(parts))


def conjunction(terms: Iterable[Term]) -> Term:
    """All of the Boolean terms; TRUE for none."""
    return _connective("and", TRUE, FALSE, terms)


def disjunction(terms: Iterable[Term]) -> Term:
    """Any of the Boolean terms; FALSE for none."""
    return _connective("or", FALSE, TRUE, terms)


def postorder(roots: Iterable[Term]) -> Iterator[Term]:
    """Every term reachable from the roots once, arguments before what uses them."""
    seen: set[Term] = set()
    stack = [(root, False) for root in roots]
    while stack:
        term, expanded = stack.pop()
        if term in seen:
            continue
        if expanded or not term.args:
            seen.add(term)
            yield term
        else:
            stack.append((term, True))
            stack.extend((arg, False) for arg in term.args if arg not in seen)


def variables(roots: Iterable[Term]) -> frozenset[Term]:
    """The free variables of the roots."""
    return frozenset(term for term in postorder(roots) if term.op == "var")


def rebuild(term: Term, args: tuple[Term, ...]) -> Term:
    """The operator of `term` applied to other arguments of the same widths."""
    match term.op:
        case "extract":
            return extract(args[0], *term.bounds)
        case "concat":
            return concat(*args)
        case "zero_extend":
            return zero_extend(args[0], term.amount)
        case "sign_extend":
            return sign_extend(args[0], term.amount)
        case "rotate_left":
            return rotate_left(args[0], term.amount)
        case "ite":
            return iff_else(*args)
        case "not":
            return negate(args[0])
        case "bvnot":
            return complement(args[0])
        case "and":
            return conjunction(args)
        case "or":
            return disjunction(args)
        case _:
            return binary(term.op, *args)


def substitute(roots: Iterable[Term], replacement: Mapping[Term, Term]) -> list[Term]:
    """The roots with every occurrence of a key of `replacement` (any term) replaced at once.

    Replaced terms are not searched again.
    """
    roots = list(roots)
    done = dict(replacement)
    stack = [(root, False) for root in roots]
    while stack:
        term, expanded = stack.pop()
        if term in done:
            continue
        if not term.args:
            done[term] = term
        elif expanded:
            args = tuple(done[arg] for arg in term.args)
            same = all(new is old for new, old in zip(args, term.args, strict=True))
            done[term] = term if same else rebuild(term, args)
        else:
            stack.append((term, True))
            stack.extend((arg, False) for arg in term.args if arg not in done)
    return [done[root] for root in roots]
