"""Formulas of SMT-LIB's QF_BV as the checker reads, builds and prints them.

A node is one operator applied to nodes, made once, so that equal formulas are the same object. The
only operators are those below, all of them in the standard; nothing is ever simplified.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_CONNECTIVES = ("and", "or")
_PREDICATES = ("=", "bvult", "bvule", "bvslt", "bvsle")
_ARITHMETIC = (
    *("bvadd", "bvsub", "bvmul", "bvudiv", "bvurem", "bvand", "bvor", "bvxor"),
    *("bvshl", "bvlshr", "bvashr"),
)
_LEAF = r"t\d+|\|[^|\\\n]+\||\(_ bv\d+ \d+\)|true|false"
_SORT = r"\(_ BitVec \d+\)|Bool"
_OPERATOR = r"[a-z]+|=|\(_ [a-z_]+ \d+(?: \d+)?\)"
_DECLARE = re.compile(rf"\(declare-const (\|[^|\\\n]+\|) ({_SORT})\)")
_DEFINE = re.compile(rf"\(define-fun (t\d+) \(\) ({_SORT}) \(({_OPERATOR})((?: (?:{_LEAF}))+)\)\)")


class MalformedError(ValueError):
    """Text that is no formula, or a formula whose widths do not fit."""


@dataclass(frozen=True, eq=False)
class Node:
    """`op` is an operator, a literal or a variable in bars; `width` in bits, 0 for a Boolean."""

    op: str
    width: int
    args: tuple[Node, ...] = ()

    @property
    def is_variable(self) -> bool:
        """Whether it is a free variable."""
        return self.op.startswith("|")

    @property
    def name(self) -> str:
        """A variable's name without bars."""
        return self.op.strip("|")


_made: dict[tuple[object, ...], Node] = {}


def _node(op: str, width: int, args: tuple[Node, ...] = ()) -> Node:
    key = (op, width if not args else None, *map(id, args))
    found = _made.get(key)
    if found is None:
        found = _made[key] = Node(op, width, args)
    return found


def variable(name: str, width: int) -> Node:
    """The free variable of that name."""
    return _node(f"|{name}|", width)


def number(value: int, width: int) -> Node:
    """The bit-vector of that value modulo 2^width."""
    return _node(f"(_ bv{value % (1 << width)} {width})", width)


def apply(op: str, *args: Node) -> Node:
    """An operator applied to arguments; raises MalformedError where the widths do not fit."""
    made = _made.get((op, None, *map(id, args)))
    if made is not None:
        return made
    widths = [arg.width for arg in args]
    first, equal, every = widths[0] if widths else 0, len(set(widths)) == 1, all(widths)
    width: int | None = None
    match len(args), op.removeprefix("(_ ").removesuffix(")").split():
        case 1, ["extract", high, low] if int(low) <= int(high) < first:
            width = int(high) - int(low) + 1
        case 1, ["zero_extend" | "sign_extend", amount] if every:
            width = first + int(amount)
        case (1, ["rotate_left", _] | ["bvnot"]) if every:
            width = first
        case (1, ["not"]) if not first:
            width = 0
        case (2, ["concat"]) if every:
            width = sum(widths)
        case 2, [name] if name in _ARITHMETIC and every and equal:
            width = first
        case 2, [name] if name in _PREDICATES and equal and (every or name == "="):
            width = 0
        case 3, ["ite"] if not first and widths[1] == widths[2]:
            width = widths[1]
        case number_, [name] if number_ > 1 and name in _CONNECTIVES and not any(widths):
            width = 0
    if width is None or bool(re.fullmatch(r"[a-z]+|=", op)) == op.startswith("("):
        raise MalformedError(f"{op} of {widths} bits")
    return _node(op, width, args)


TRUE, FALSE = _node("true", 0), _node("false", 0)


def conjunction(parts: Iterable[Node]) -> Node:
    """All of the formulas; true for none."""
    found = tuple(dict.fromkeys(parts))
    return apply("and", *found) if len(found) > 1 else (found or (TRUE,))[0]


def disjunction(parts: Iterable[Node]) -> Node:
    """Any of the formulas; false for none."""
    found = tuple(dict.fromkeys(parts))
    return apply("or", *found) if len(found) > 1 else (found or (FALSE,))[0]


def same(a: Node, b: Node) -> Node:
    """That two nodes have one value."""
    return apply("=", a, b)


def plus(node: Node, constant: int) -> Node:
    """The node and a constant, modulo 2^width."""
    return apply("bvadd", node, number(constant, node.width))


def extract(node: Node, high: int, low: int) -> Node:
    """Bits high..low; the node itself where that is all of it."""
    whole = low == 0 and high == node.width - 1
    return node if whole else apply(f"(_ extract {high} {low})", node)


def concat(parts: Sequence[Node]) -> Node:
    """The parts one behind the other, the first the most significant."""
    *front, result = parts
    for part in reversed(front):
        result = apply("concat", part, result)
    return result


def below(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node of the formulas once, arguments before what uses them, in a fixed order."""
    seen: set[Node] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if node in seen:
            continue
        if ready or not node.args:
            seen.add(node)
            yield node
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args) if arg not in seen)


def variables(roots: Iterable[Node]) -> set[Node]:
    """The free variables of the formulas."""
    return {node for node in below(roots) if node.is_variable}


def substitute(roots: Sequence[Node], mapping: Mapping[Node, Node]) -> list[Node]:
    """The formulas with every node that is a key replaced by its value, all at once."""
    done = dict(mapping)
    for node in below(roots):
        if node not in done:
            done[node] = apply(node.op, *(done[a] for a in node.args)) if node.args else node
    return [done[root] for root in roots]


def renamed(formula: Node) -> Node:
    """The formula with its variables numbered in the order in which they occur."""
    counter: Counter[str] = Counter()
    mapping: dict[Node, Node] = {}
    for node in below([formula]):
        if node.is_variable:
            mapping[node] = variable(f"x{counter['x']}", node.width)
            counter["x"] += 1
    return substitute([formula], mapping)[0]


class Images:
    """Formulas over what stands for some of their parts: `replaced`, which may grow."""

    def __init__(self, replaced: Mapping[Node, Node]) -> None:
        self._replaced = replaced
        self._built: dict[Node, Node] = {}

    def image(self, node: Node) -> Node:
        """How others see a node: what stands for it, or its body."""
        found = self._replaced.get(node)
        return self.body(node) if found is None else found

    def body(self, node: Node) -> Node:
        """A node's own operator over its arguments as others see them."""
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [a for a in top.args if a not in self._replaced and a not in self._built]
            if missing and top not in self._built:
                stack.extend(missing)
                continue
            if top not in self._built:
                args = [self._replaced.get(arg) or self._built[arg] for arg in top.args]
                self._built[top] = apply(top.op, *args) if args else top
            stack.pop()
        return self._built[node]


def _sort(node: Node) -> str:
    return f"(_ BitVec {node.width})" if node.width else "Bool"


def definitions(roots: Iterable[Node]) -> tuple[list[str], dict[Node, str]]:
    """The lines that declare and define every node of the formulas, and what each is called."""
    lines: list[str] = []
    names: dict[Node, str] = {}
    for node in below(roots):
        if node.args:
            names[node] = f"t{len(lines)}"
            body = " ".join([node.op, *(names[arg] for arg in node.args)])
            lines.append(f"(define-fun {names[node]} () {_sort(node)} ({body}))")
        else:
            names[node] = node.op
            if node.is_variable:
                lines.append(f"(declare-const {node.op} {_sort(node)})")
    return lines, names


def script(assertions: Sequence[Node]) -> str:
    """A complete SMT-LIB 2.6 script: can all of the formulas hold?"""
    lines, names = definitions(assertions)
    return "\n".join(
        [
            "(set-logic QF_BV)",
            *lines,
            *(f"(assert {names[node]})" for node in assertions),
            "(check-sat)",
            "",
        ]
    )


class Definitions(dict[str, Node]):
    """Nodes by name; literals go by their text."""

    def __missing__(self, word: str) -> Node:
        literal = re.fullmatch(r"\(_ bv(\d+) (\d+)\)", word)
        if literal and int(literal[1]) >> int(literal[2]) == 0 < int(literal[2]):
            return number(int(literal[1]), int(literal[2]))
        node = {"true": TRUE, "false": FALSE}.get(word)
        if node is None:
            raise MalformedError(f"{word} is not defined")
        return node


def parse(text: str) -> Definitions:
    """The nodes that lines of declarations and definitions name; raises MalformedError."""
    found = Definitions()
    for line in text.splitlines():
        if match := _DECLARE.fullmatch(line):
            name, sort = match.groups()
            width = 0 if sort == "Bool" else int(sort.split()[-1].rstrip(")"))
            node = _node(name, width)
        elif match := _DEFINE.fullmatch(line):
            name, sort, op, words = match.groups()
            node = apply(op, *(found[word] for word in re.findall(_LEAF, words)))
        else:
            raise MalformedError(f"neither a declaration nor a definition: {line[:60]!r}")
        if name in found or _sort(node) != sort:
            raise MalformedError(f"{name} is defined twice or has another sort")
        found[name] = node
    return found
