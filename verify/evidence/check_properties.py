"""What each property of the theorem requires of a model: one function for each.

Each yields the obligations that together imply the property, given those of the induction
(`verify.evidence.check`). Raises RefusedError for what is plain to see without a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import specs.chacha20
from specs.contract import BLOCK_BYTES, KEY_WORDS, REFILL_BLOCKS, REFILL_KEY_OFFSET, REGIONS
from verify.evidence.check_model import Access, Model, Obligation, RefusedError, Segment, accesses
from verify.evidence.check_terms import (
    FALSE,
    Images,
    Node,
    apply,
    concat,
    conjunction,
    disjunction,
    extract,
    number,
    plus,
    renamed,
    same,
    variable,
    variables,
)
from verify.evidence.check_zeros import are_zero

_SIZES = {region.name: region.size for region in REGIONS}
_WRITABLE = {region.name for region in REGIONS if region.writable}
_KEY = frozenset(range(4 * KEY_WORDS))
CLEAN = "clean"
"""The assumption that what is said to be clean at the head is."""


class Words:
    """The words of the specification as nodes; `made` are the results of operations, in order."""

    def __init__(self) -> None:
        self.made: dict[Node, None] = {}

    def const(self, value: int, /) -> Node:
        """A constant word."""
        return number(value, 32)

    def add(self, a: Node, b: Node, /) -> Node:
        """a + b modulo 2^32."""
        return self._keep(apply("bvadd", a, b))

    def xor(self, a: Node, b: Node, /) -> Node:
        """a xor b."""
        return self._keep(apply("bvxor", a, b))

    def rotl(self, a: Node, amount: int, /) -> Node:
        """`a` rotated left."""
        return self._keep(apply(f"(_ rotate_left {amount})", a))

    def _keep(self, node: Node) -> Node:
        self.made.setdefault(node)
        return node


def output(model: Model) -> Iterator[Obligation]:
    """Each pass writes the block at hand, as specified, and nothing in front of it; the function
    returns when nblocks blocks are written."""
    lemmas: dict[Node, Obligation] = {}
    for segment in model.segments:
        name, finished = segment["name"], model.finishes(segment)
        if any(access["offset"] < 0 for access in accesses(segment, "write", "dst")):
            raise RefusedError(f"{name}: writes in front of the block at hand")
        _key_in_time(model, segment)
        if segment["end"] == "exit":
            yield model.claim(
                f"output/all-blocks/{name}",
                f"{name}: the function returns only when nblocks blocks are written",
                segment,
                [same(plus(model.done(segment), int(finished)), model.nblocks)],
            )
        if not finished or (segment["begin"], segment["end"]) == ("entry", "head"):
            continue
        cells = [cell for cell in segment["memory"] if cell[0] == "dst"]
        yield model.claim(
            f"output/block/{name}",
            f"{name}: what dst holds at the end is the block at hand",
            segment,
            (same(model.nodes[index], model.block_at(segment)) for _, index, *_ in cells),
        )
        for lemma in _words(model, segment):
            old = lemmas.get(lemma.formula, replace(lemma, instances=0, instructions=()))
            used = tuple(dict.fromkeys((*old.instructions, *lemma.instructions)))
            lemmas[lemma.formula] = replace(old, instances=old.instances + 1, instructions=used)
    for position, lemma in enumerate(lemmas.values()):
        yield replace(lemma, id=f"output/word{position}")


def _key_in_time(model: Model, segment: Segment) -> None:
    """No byte of the key is read after it was overwritten, when it lies at dst + 96 and there are
    two blocks (getrandom()'s refill), whichever of the two the segment is at."""

    def overwritten(access: Access, block: int) -> frozenset[int]:
        first = access["offset"] + BLOCK_BYTES * block - REFILL_KEY_OFFSET
        return _KEY & frozenset(range(first, first + access["size"]))

    passes = [before for _, before in model.ending("head")]
    writes = [access for before in passes for access in accesses(before, "write", "dst")]
    early = {byte for access in writes for byte in overwritten(access, 0)}
    inside = segment["begin"] == "head"
    for block in range(REFILL_BLOCKS if inside else 1):
        gone = set((early if model.finishes(segment) else _KEY) if inside else ())
        for access in segment["accesses"]:
            bytes_ = frozenset(range(access["offset"], access["offset"] + access["size"]))
            if (access["kind"], access["region"]) == ("write", "dst"):
                gone |= overwritten(access, block)
            elif (access["kind"], access["region"]) == ("read", "key") and gone & bytes_:
                raise RefusedError(f"{segment['name']}: reads the key after it was overwritten")


def _words(model: Model, segment: Segment) -> Iterator[Obligation]:
    """That the block at hand is the specification's, by induction over the code's values.

    Each value of the code that is said to hold words of the specification is shown to hold them
    if those before it do. A word of the specification is a variable that stands for it; so is a
    lane of the code once it was shown to hold the word; what else is in such a value is arbitrary
    where it is not plainly zero.
    """
    words = Words()
    first = model.count if segment["begin"] == "entry" else model.block_count
    low, high = extract(first, 31, 0), extract(first, 63, 32)
    block = specs.chacha20.block(words, model.key, low, high)
    made = list(words.made)
    wanted = sorted({word for entry in segment["words"] for word in entry[3::2]})
    named = {made[word]: variable(f"word{word}", 32) for word in wanted}
    shown: dict[Node, Node] = {}
    spec, code = Images(named), Images(shown)

    def holds(lane: Node, word: Node, instructions: Iterable[str] = ()) -> Iterator[Obligation]:
        name = named.setdefault(word, variable(f"word{len(made) + len(named)}", 32))
        if lane is not name:
            undefined = apply("not", same(name, spec.body(word)))
            formula = renamed(disjunction([undefined, same(name, lane)]))
            text = "a value of the code is a word of the specification, if those before it are"
            yield Obligation("", text, ("words",), (), formula, tuple(instructions))

    for position, (term, instruction, *lanes) in enumerate(segment["words"]):
        node = model.nodes[term]
        if not node.args or node in shown:
            raise RefusedError(f"{segment['name']}: {term} holds words twice, or is no result")
        body, at = code.body(node), 0
        parts: list[Node] = []
        for bit, word in zip([*lanes[::2], node.width], [*lanes[1::2], None], strict=True):
            if not at <= bit <= node.width - (0 if word is None else 32):
                raise RefusedError(f"{segment['name']}: words overlap in {term}")
            if at < bit:
                parts += _beside(node, bit, at, f"rest{position}")
            if word is not None:
                origin = [instruction] if instruction else []
                yield from holds(extract(body, bit + 31, bit), made[word], origin)
                parts.append(named[made[word]])
            at = bit + 32
        shown[node] = concat(parts[::-1])
    for position, word in enumerate(block):
        value = _little_endian(model, segment, 4 * position)
        yield from holds(code.image(value), word)


def _beside(node: Node, end: int, start: int, name: str) -> Iterator[Node]:
    """What is known of bits start..end-1 of a value, which are no word: in lanes of 32 bits, the
    least significant first."""
    for at in range(start, end, 32):
        width = min(32, end - at)
        zero = are_zero(node, at + width - 1, at)
        yield number(0, width) if zero else variable(f"{name}_{at}", width)


def _little_endian(model: Model, segment: Segment, offset: int) -> Node:
    """The four bytes at dst + offset as the contract reads them."""
    if model.little:
        return model.memory(segment, "dst", offset, 4)
    return concat([model.memory(segment, "dst", offset + n, 1) for n in (3, 2, 1, 0)])


def counter(model: Model) -> Iterator[Obligation]:
    """At return the two words at counter are counter + nblocks, the low word first."""
    final = apply("bvadd", model.count, model.widened(model.nblocks))
    for position, segment in model.ending("exit"):
        for offset, title, high in ((0, "low", 31), (4, "high", 63)):
            yield model.claim(
                f"counter/{title}/exit{position}",
                f"the {title} word at counter is that of counter + nblocks mod 2^64",
                segment,
                [
                    same(
                        model.memory(segment, "counter", offset, 4),
                        extract(final, high, high - 31),
                    )
                ],
            )


def _inside(address: Node, size: int, base: Node, total: Node) -> Node:
    """`size` bytes at `address` lie in the `total` bytes at `base`."""
    width = number(size, total.width)
    last, distance = apply("bvsub", total, width), apply("bvsub", address, base)
    return conjunction([apply("bvule", width, total), apply("bvule", distance, last)])


def _own_stack(model: Model, access: Access) -> Node:
    """An access lies in the frame, the red zone or the callee's slots of the caller's frame."""
    entry, size = model.pointer("sp"), access["size"]
    distance = apply("bvsub", model.nodes[access["address"]], entry)
    lowest = apply("bvsub", model.nodes[access["stack_pointer"]], entry)
    ranges = [(plus(lowest, -model.abi["red_zone"]), number(-size, model.bits))]
    ranges += [
        (number(start, model.bits), number(start + length - size, model.bits))
        for start, length in model.abi["linkage_area"]
        if size <= length
    ]
    return disjunction(
        conjunction([apply("bvsle", low, distance), apply("bvsle", distance, high)])
        for low, high in ranges
    )


def _allowed(model: Model, access: Access) -> Node:
    """An access lies in the region that it names, and the contract allows it there."""
    region, size, address = access["region"], access["size"], model.nodes[access["address"]]
    if region == "stack":
        return _own_stack(model, access)
    if region == "code" and access["kind"] == "read":
        return disjunction(
            _inside(address, size, number(first, model.bits), number(length, model.bits))
            for first, length in model.readable
        )
    if region not in _SIZES or (access["kind"] != "read" and region not in _WRITABLE):
        return FALSE
    fixed = _SIZES[region]
    blocks = apply("bvmul", model.nblocks, number(BLOCK_BYTES, model.bits))
    total = blocks if fixed is None else number(fixed, model.bits)
    return _inside(address, size, model.pointer(region), total)


def footprint(model: Model) -> Iterator[Obligation]:
    """Every access lies where the contract allows it."""
    for segment in model.segments:
        kinds = dict.fromkeys((a["kind"], a["region"]) for a in segment["accesses"])
        for kind, region in kinds:
            found = accesses(segment, kind, region)
            yield model.claim(
                f"footprint/{kind}/{region}/{segment['name']}",
                f"{segment['name']}: all {len(found)} {kind}s of {region} lie where the contract "
                "allows",
                segment,
                (_allowed(model, access) for access in found),
                (access["instruction"] for access in found),
            )


def stack(model: Model) -> Iterator[Obligation]:
    """Every store to the stack lies in the function's own part of it, and writes a register that
    the caller keeps or a public value."""
    kept = [*model.abi["preserved"].values(), *model.abi["reserved"].values()]
    known = model.public | variables(model.nodes[term] for term in kept)
    for segment in model.segments:
        writes = accesses(segment, "write", "stack")
        values = [model.nodes[access["value"]] for access in writes]
        public = (model.independent(value, variables([value]) - known) for value in values)
        yield model.claim(
            f"stack/{segment['name']}",
            f"{segment['name']}: all {len(writes)} stores to the stack lie in the frame or the red "
            "zone and write no secret",
            segment,
            [*(_own_stack(model, access) for access in writes), *public],
            (access["instruction"] for access in writes),
        )


def abi(model: Model) -> Iterator[Obligation]:
    """Preserved registers are restored, control goes to the return address, and reserved registers
    are never written."""
    for segment in model.segments:
        if broken := set(segment["written"]) & set(model.abi["reserved"]):
            raise RefusedError(f"{segment['name']}: writes {', '.join(sorted(broken))}")
    for position, segment in model.ending("exit"):
        yield model.claim(
            f"abi/return/exit{position}",
            "control goes to the return address",
            segment,
            [same(model.nodes[segment["target"]], model.pointer("ra"))],
        )
        for name, term in model.abi["preserved"].items():
            entry, more = model.nodes[term], ""
            if name == model.abi["stack_pointer"] and model.abi["popped_at_return"]:
                entry = plus(entry, model.abi["popped_at_return"])
                more = f" and {model.abi['popped_at_return']} more"
            yield model.claim(
                f"abi/{name}/exit{position}",
                f"at return {name} holds what it held at entry{more}",
                segment,
                [same(model.nodes[segment["registers"][name]], entry)],
            )


def secrecy(model: Model) -> Iterator[Obligation]:
    """No register that the ABI does not preserve and no memory but dst holds a secret at return,
    and no such memory ever held one."""
    for segment in model.segments:
        writes = [a for a in segment["accesses"] if a["kind"] == "write" and a["region"] != "dst"]
        yield model.claim(
            f"secrecy/moment/{segment['name']}",
            f"{segment['name']}: none of the {len(writes)} stores outside dst writes a secret",
            segment,
            (model.independent(model.nodes[access["value"]]) for access in writes),
            (access["instruction"] for access in writes),
            CLEAN,
        )
    for position, segment in model.ending("exit"):
        cells = [cell for cell in segment["memory"] if cell[0] == "stack"]
        yield model.claim(
            f"secrecy/stack/exit{position}",
            "at return nothing that is known of the stack depends on a secret",
            segment,
            (model.independent(model.nodes[term]) for *_, term in cells),
            besides=CLEAN,
        )
        for name in model.abi["scratch"]:
            yield model.claim(
                f"secrecy/register/{name}/exit{position}",
                f"at return {name} does not depend on a secret",
                segment,
                [model.independent(model.nodes[segment["registers"][name]])],
                besides=CLEAN,
            )


def timing(model: Model) -> Iterator[Obligation]:
    """No branch condition, no address and no operand of a multiplication or division depends on a
    secret."""
    for segment in model.segments:
        addresses = [(a["instruction"], a["address"]) for a in segment["accesses"]]
        for kind, values in (
            ("branch condition", segment["guards"]),
            ("address", addresses),
            ("operand of a multiplication or division", segment["slow"]),
        ):
            yield model.claim(
                f"timing/{kind.partition(' ')[0]}/{segment['name']}",
                f"{segment['name']}: no {kind} depends on a secret",
                segment,
                (model.independent(model.nodes[term]) for _, term in values),
                (instruction for instruction, _ in values),
                CLEAN,
            )


def termination(model: Model) -> Iterator[Obligation]:
    """A path that comes back to a state is never taken; each pass lowers nblocks - index."""
    for _, segment in model.ending("never"):
        yield model.claim(
            f"termination/{segment['name']}",
            f"{segment['name']}: the path that comes back to a state is never taken",
            segment,
            [FALSE],
        )
    left = apply("bvsub", model.nblocks, model.index)
    for _, segment in model.ending("head"):
        if segment["begin"] == "head":
            yield model.claim(
                f"termination/rank/{segment['name']}",
                "a pass through the block loop lowers nblocks - index",
                segment,
                [apply("bvult", plus(left, -1), left)],
            )


PROPERTIES: Mapping[str, Callable[[Model], Iterator[Obligation]]] = {
    "output": output,
    "counter": counter,
    "footprint": footprint,
    "stack": stack,
    "abi": abi,
    "secrecy": secrecy,
    "timing": timing,
    "termination": termination,
}
"""In the order of reports."""
