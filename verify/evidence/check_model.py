"""The model of a function in a certificate, and what may be said of it.

The model tells what each loop-free path from one cut point to the next does, as the lifter read it:
its guards, every access to memory, and registers and memory at its end, as formulas over the
variables of the theorem. The cut points are `entry`, `head` (of the block loop) and `exit`. At the
head, `index` blocks are finished and every location holds the formula that the model gives, over
the variables of the entry, `index`, `block_count`, and variables for what is not known there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specs.contract import BLOCK_BYTES, KEY_WORDS
from verify.evidence.check_terms import (
    TRUE,
    Node,
    apply,
    concat,
    conjunction,
    extract,
    number,
    plus,
    same,
    script,
    substitute,
    variable,
    variables,
)

Segment = Mapping[str, Any]
Access = Mapping[str, Any]
_OF_ENTRY = re.compile(r"init_\w+|stack\[-?\d+:-?\d+\]|undefined@0x[0-9a-f]+#\d+")
"""What registers and the stack hold at entry, and what an instruction leaves undefined."""
_BASES = {"dst": "dst", "key": "key", "counter": "counter", "stack": "sp"}
_POINTERS = ("dst", "key", "counter", "nblocks", "sp", "ra", "index")


class RefusedError(ValueError):
    """The certificate proves nothing; the message says why, in one line."""


@dataclass(frozen=True)
class Obligation:
    """`formula` follows from what is `given` (`answer` unsat: its negation cannot hold), or what is
    given can hold (sat). `assumes` names where the given comes from, `instances` counts the places
    that need the same formula."""

    id: str
    claim: str
    assumes: tuple[str, ...]
    given: tuple[Node, ...]
    formula: Node = TRUE
    instructions: tuple[str, ...] = ()
    answer: str = "unsat"
    instances: int = 1

    @property
    def question(self) -> str:
        """The SMT-LIB script that a solver answers."""
        negated = () if self.answer == "sat" else (apply("not", self.formula),)
        return script((*self.given, *negated))

    @property
    def file(self) -> str:
        """Its file in the certificate."""
        return f"obligations/{re.sub('[^a-z0-9.]+', '-', self.id)}.smt2"


class Model:
    """A model, checked to speak of nothing but what the theorem speaks of."""

    def __init__(self, index: Mapping[str, Any], nodes: Mapping[str, Node]) -> None:
        """Raises RefusedError; KeyError and the like where a part is missing."""
        model = index["model"]
        self.abi, self.nodes, self.head = index["abi"], nodes, model["head"]
        self.segments: list[Segment] = model["segments"]
        self.readable = [(int(address, 16), size) for address, size in model["readable"]]
        self.bits, self.little = self.abi["pointer_bits"], self.abi["byte_order"] == "little"
        self.count, self.block_count = variable("count", 64), variable("block_count", 64)
        self.nblocks, self.index = self.pointer("nblocks"), self.pointer("index")
        self.key = [variable(f"k{n}", 32) for n in range(KEY_WORDS)]
        self.public = {*map(self.pointer, _POINTERS), self.count, self.block_count}
        unknown = self.head["unknown"] if self.head else []
        self.unknown = {nodes[f"|{one['variable']}|"]: one for one in unknown}
        self.clean = {node for node, one in self.unknown.items() if one["clean"] is True}
        self.contract = self._contract()
        self.facts = self._facts()
        self._check_structure()
        self._check_variables()
        self._check_registers()

    def pointer(self, name: str) -> Node:
        """A variable as wide as a pointer."""
        return variable(name, self.bits)

    def widened(self, blocks: Node) -> Node:
        """A number of blocks as wide as the counter."""
        return apply(f"(_ zero_extend {64 - self.bits})", blocks) if self.bits < 64 else blocks

    def _contract(self) -> list[Node]:
        """What the caller guarantees: 1 <= nblocks, dst fits into the address space, and the
        alignment of the return address."""
        most = number((1 << self.bits) // BLOCK_BYTES - 1, self.bits)
        facts = [
            apply("bvule", number(1, self.bits), self.nblocks),
            apply("bvule", self.nblocks, most),
        ]
        zeros = self.abi["return_alignment"].bit_length() - 1
        if zeros:
            facts.append(same(extract(self.pointer("ra"), zeros - 1, 0), number(0, zeros)))
        return facts

    def _facts(self) -> list[Node]:
        """What holds at the head besides the values of locations."""
        if not self.head:
            return []
        if self.head["bound"] not in ("bvult", "bvule"):
            raise RefusedError("the bound of the block loop is neither < nor <=")
        count = apply("bvadd", self.count, self.widened(self.index))
        return [apply(self.head["bound"], self.index, self.nblocks), same(self.block_count, count)]

    def _check_structure(self) -> None:
        """Every cut point is entered and left, and there are no others."""
        inner = {"head"} if self.head else set()
        begins = {segment["begin"] for segment in self.segments}
        ends = {segment["end"] for segment in self.segments}
        arriving = {segment["begin"] for segment in self.segments if segment["end"] == "head"}
        if len({segment["name"] for segment in self.segments}) < len(self.segments):
            raise RefusedError("two segments have the same name")
        if begins != {"entry"} | inner or not inner | {"exit"} <= ends <= inner | {"exit", "never"}:
            raise RefusedError("a cut point is not entered, not left, or not known")
        if inner and arriving != {"entry", "head"}:
            raise RefusedError("the block loop is not entered, or not a loop")

    def _check_variables(self) -> None:
        """Every variable is one of the theorem's, with its width; those of the head only there."""
        every = {node for node in self.nodes.values() if node.is_variable}
        for node in every - self.public - {*self.key} - set(self.unknown):
            if not _OF_ENTRY.fullmatch(node.name):
                raise RefusedError(f"nothing is known of the variable {node.name}")
        if self.unknown.keys() & {*self.public, *self.key} or any(
            _OF_ENTRY.fullmatch(node.name) for node in self.unknown
        ):
            raise RefusedError("what is not known at the head has the name of something else")
        at_head = {self.index, self.block_count, *self.unknown}
        before: set[Node] = set()
        for segment in (one for one in self.segments if one["begin"] == "entry"):
            before |= variables(self._terms(segment))
            if at_head & before:
                raise RefusedError(f"{segment['name']} uses what is known at the head only")
        # What a pass leaves undefined is another value in each pass.
        stated = variables(self.nodes[term] for *_, term in self.head["state"]) if self.head else ()
        if any(node.name.startswith("undefined@") for node in {*stated} - before):
            raise RefusedError("what is known at the head is left undefined by a pass")

    def _check_registers(self) -> None:
        """Each register that the caller keeps is compared with what it held itself."""
        kept = {**self.abi["preserved"], **self.abi["reserved"]}
        for name, term in kept.items():
            stack_pointer = name == self.abi["stack_pointer"]
            for free in variables([self.nodes[term]]):
                if (free is self.pointer("sp")) != stack_pointer or (
                    not stack_pointer and not free.name.startswith("init_")
                ):
                    raise RefusedError(f"{name} is not compared with what it held at entry")
        if len({self.nodes[term] for term in kept.values()}) < len(kept):
            raise RefusedError("two registers are compared with one value")

    def _terms(self, segment: Segment) -> list[Node]:
        names = [term for _, term in (*segment["guards"], *segment["slow"])]
        names += [a[k] for a in segment["accesses"] for k in ("address", "value", "stack_pointer")]
        names += [term for cell in segment["memory"] for term in (cell[1], cell[4]) if term]
        names += [*segment["state"], *segment["registers"].values(), segment["target"]]
        return [self.nodes[name] for name in names if name]

    def given(self, segment: Segment) -> tuple[Node, ...]:
        """All that holds on a segment: the contract, the facts at the head, its guards."""
        facts = self.facts if segment["begin"] == "head" else []
        return (*self.contract, *facts, *(self.nodes[term] for _, term in segment["guards"]))

    def claim(
        self,
        name: str,
        text: str,
        segment: Segment,
        formulas: Iterable[Node],
        instructions: Iterable[str] = (),
        besides: str = "",
    ) -> Obligation:
        """That formulas hold on a segment; `besides` is what they assume at the head, too."""
        head = [name for name in ("head", besides) if name and segment["begin"] == "head"]
        origin = tuple(dict.fromkeys(instructions))
        assumes = ("contract", *head, "path")
        return Obligation(name, text, assumes, self.given(segment), conjunction(formulas), origin)

    def ending(self, end: str) -> Iterator[tuple[int, Segment]]:
        """The segments that end at a cut point, numbered."""
        yield from enumerate(segment for segment in self.segments if segment["end"] == end)

    def place(self, segment: Segment, access: Access) -> Node:
        """The address that an access names: a region, for dst from the block at hand, an offset."""
        region = access["region"]
        base = number(0, self.bits) if region == "code" else self.pointer(_BASES[region])
        start = self.block_at(segment) if region == "dst" else number(0, self.bits)
        return apply("bvadd", base, plus(start, access["offset"]))

    def done(self, segment: Segment) -> Node:
        """The number of blocks finished where a segment begins."""
        return self.index if segment["begin"] == "head" else number(0, self.bits)

    def block_at(self, segment: Segment) -> Node:
        """The distance in bytes from dst to the block at hand."""
        return apply("bvmul", self.done(segment), number(BLOCK_BYTES, self.bits))

    def finishes(self, segment: Segment) -> bool:
        """Whether a segment writes a block: if it goes round, or writes to dst at all."""
        return segment["begin"] == segment["end"] or bool(accesses(segment, "write", "dst"))

    def witness(self, segment: Segment) -> dict[Node, Node]:
        """What the variables of the head stand for when a segment arrives there."""
        first = segment["begin"] == "entry"
        found = {
            self.index: number(0, self.bits) if first else plus(self.index, 1),
            self.block_count: self.count if first else plus(self.block_count, 1),
        }
        for node, one in self.unknown.items():
            value = self.nodes[segment["state"][one["location"]]]
            found[node] = extract(value, one["high"], one["low"])
        return found

    def memory(self, segment: Segment, region: str, offset: int, size: int) -> Node:
        """`size` bytes at the end of a segment as one value, in the machine's byte order."""
        parts, position = [], offset
        while position < offset + size:
            cells = [
                (start, length, self.nodes[term])
                for name, _, start, length, term in segment["memory"]
                if name == region and start <= position < start + length
            ]
            if len(cells) != 1 or cells[0][2].width != 8 * cells[0][1]:
                raise RefusedError(f"{segment['name']}: {region}{position:+d} is not known")
            start, length, value = cells[0]
            stop = min(offset + size, start + length)
            low = position - start if self.little else start + length - stop
            parts.append(extract(value, 8 * (low + stop - position) - 1, 8 * low))
            position = stop
        return concat(parts[::-1] if self.little else parts)

    def secrets(self, value: Node) -> set[Node]:
        """The variables in a value that may hold a secret: all that are not known to be public."""
        return {
            node
            for node in variables([value]) - self.public - self.clean
            if not _OF_ENTRY.fullmatch(node.name)
        }

    def independent(self, value: Node, hidden: Iterable[Node] | None = None) -> Node:
        """That a value is the same in two runs that differ in what is hidden (the secrets)."""
        free = self.secrets(value) if hidden is None else hidden
        twin = {node: variable(f"{node.name}'", node.width) for node in free}
        return same(value, substitute([value], twin)[0])


def accesses(segment: Segment, kind: str, region: str) -> list[Access]:
    """The loads or stores of one region."""
    return [a for a in segment["accesses"] if (a["kind"], a["region"]) == (kind, region)]
