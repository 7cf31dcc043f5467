"""A certificate: what a proof knows of the code, and the obligations that follow from it.

The model of the function is written as the lifter read it, in no simplified form. What has to be
proved of it is worked out by the checker (`verify.evidence.check`), here as there, so that the
obligations in the certificate are the checker's, not the prover's. The same input gives the same
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from verify.errors import InputError
from verify.evidence import check
from verify.evidence.check_model import Model, RefusedError
from verify.evidence.check_terms import (
    FALSE,
    TRUE,
    Node,
    apply,
    concat,
    definitions,
    number,
    parse,
    variable,
)
from verify.output import require_empty
from verify.resultjson import encode
from verify.verdict import Caveat, Result, Verdict

if TYPE_CHECKING:
    from verify.prove.invariants import Location
    from verify.prove.segments import Segment, Segments
    from verify.terms import Term

_BEGINS = {"entry": "entry", "loop": "head"}
_ENDS = {"loop": "head", "exit": "exit", "never": "never"}


class _Terms:
    """The prover's terms as nodes, and the names that they have in the model."""

    def __init__(self) -> None:
        self._nodes: dict[Term, Node] = {}
        self._used: dict[Node, None] = {}

    def use(self, term: Term) -> Node:
        """The node of a term, which gets a name."""
        stack = [term]
        while stack:
            top = stack[-1]
            missing = [arg for arg in top.args if arg not in self._nodes]
            if missing and top not in self._nodes:
                stack.extend(missing)
                continue
            if top not in self._nodes:
                self._nodes[top] = self._made(top)
            stack.pop()
        node = self._nodes[term]
        self._used.setdefault(node)
        return node

    def _made(self, term: Term) -> Node:
        args = [self._nodes[arg] for arg in term.args]
        match term.op:
            case "var":
                return variable(term.name, term.width)
            case "const":
                assert term.value is not None
                return number(term.value, term.width) if term.width else (FALSE, TRUE)[term.value]
            case "concat":
                return concat(args)
            case "extract":
                return apply("(_ extract {} {})".format(*term.bounds), *args)
            case "zero_extend" | "sign_extend" | "rotate_left":
                return apply(f"(_ {term.op} {term.amount})", *args)
            case _:
                return apply(term.op, *args)

    def text(self) -> tuple[str, dict[Node, str]]:
        """The definitions of all nodes used, and their names."""
        lines, names = definitions(self._used)
        return "\n".join([*lines, ""]), names


def certificates(result: Result, parts: Sequence[tuple[Segments, Result]]) -> dict[str, bytes]:
    """File name to content of the certificates of a function: one for each variant that the kernel
    may make of it, in a directory of its own where there are several.

    `parts` are what each variant does and its result. Raises InputError where nothing is PROVED, or
    where the proof needs what certificates cannot hold.
    """
    if not parts or len(parts) != len(result.variants):
        raise InputError(result.target.source, "no certificate, since no property is PROVED")
    found: dict[str, bytes] = {}
    for number_, (variant, (segments, part)) in enumerate(
        zip(result.variants, parts, strict=True), 1
    ):
        place = f"variant{number_}/" if len(parts) > 1 else ""
        about = {"number": number_, "of": len(parts), **encode(variant)}
        del about["verdicts"]
        files = certificate(segments, replace(part, target=result.target), about)
        found |= {f"{place}{name}": content for name, content in files.items()}
    return found


def certificate(segments: Segments, result: Result, variant: Mapping[str, Any]) -> dict[str, bytes]:
    """File name to content of the certificate of what is PROVED of one variant."""
    verdicts = {one.property: one.verdict.value for one in result.properties}
    if Verdict.PROVED.value not in verdicts.values():
        raise InputError(result.target.source, "no certificate, since no property is PROVED")
    terms = _Terms()
    model = _model(segments, terms, verdicts)
    abi = _abi(segments, terms)
    text, names = terms.text()
    index: dict[str, Any] = {
        "format": check.FORMAT,
        "generator": {"name": "vdso-verify", "version": result.tools["vdso-verify"]},
        "target": {**encode(result.target), "source": PurePath(result.target.source).name},
        "variant": variant,
        "verdicts": verdicts,
        "caveats": [one.value for one in result.caveats if one is not Caveat.SOLVER_TRUSTED],
        "trusted": check.TRUSTED,
        "tools": result.tools,
        "specification": check.specification(),
        "abi": abi,
        "disassembly": _disassembly(segments),
        "model": model,
    }
    index = _named(index, names)
    proved = [name for name, verdict in verdicts.items() if verdict == Verdict.PROVED.value]
    try:
        checked = Model(index, parse(text))
        found = check.obligations(checked, proved)
    except RefusedError as error:
        raise InputError(result.target.source, f"no certificate: {error}") from None
    index["composition"] = check.composition(checked, found)
    index["obligations"] = check.entries(found)
    code = segments.target.code(result.target.address, result.target.size)
    files = {
        check.INDEX: check.dumps(index).encode(),
        check.MODEL: text.encode(),
        check.CODE: code or b"",
        **{name: content.encode() for name, content in check.texts(found).items()},
    }
    return {**files, check.SUMS: check.sums(files)}


def save(files: Mapping[str, bytes], directory: Path) -> None:
    """Write a certificate to a directory, which is made, and must be empty.

    Raises InputError.
    """
    require_empty(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError(str(directory), (error.strerror or str(error)).lower()) from None


def _named(value: Any, names: Mapping[Node, str]) -> Any:
    """Nodes replaced by their names."""
    if isinstance(value, Node):
        return names[value]
    if isinstance(value, dict):
        return {key: _named(item, names) for key, item in value.items()}
    return [_named(item, names) for item in value] if isinstance(value, list | tuple) else value


def _abi(segments: Segments, terms: _Terms) -> dict[str, Any]:
    """The facts of the ABI that the properties speak of."""
    from verify.arch import Saved
    from verify.properties.abi import entry_value

    architecture = segments.target.architecture

    def held(saved: Saved) -> dict[str, Node]:
        registers = architecture.with_saved(saved)
        return {r.name: terms.use(entry_value(segments, r.name)) for r in registers}

    return {
        "architecture": architecture.name,
        "name": architecture.abi,
        "pointer_bits": architecture.bits,
        "byte_order": architecture.byte_order,
        "stack_pointer": architecture.stack_pointer,
        "return_alignment": architecture.return_alignment,
        "popped_at_return": architecture.popped_at_return,
        "red_zone": architecture.red_zone,
        "linkage_area": [list(area) for area in architecture.linkage_area],
        "preserved": held(Saved.CALLEE),
        "reserved": held(Saved.RESERVED),
        "scratch": [register.name for register in architecture.with_saved(Saved.CALLER)],
    }


def _disassembly(segments: Segments) -> dict[str, str]:
    """Address to text of every instruction that is reached."""
    blocks = segments.flow.blocks.values()
    reached = {address for block in blocks for address in block.instructions}
    start = segments.target.function.address
    text = segments.engine.disassemble(start, segments.flow.end - start)
    return {f"{address:#x}": line for address, line in text if address in reached}


def _model(segments: Segments, terms: _Terms, verdicts: Mapping[str, str]) -> dict[str, Any]:
    """What the segments do."""
    places = _locations(segments)
    found = []
    times: dict[str, int] = {}
    for segment in segments:
        name = f"{_BEGINS[segment.begin]}-to-{_ENDS[segment.end]}"
        times[name] = times.get(name, 0) + 1
        name = name if times[name] == 1 else f"{name}-{times[name]}"
        found.append(_segment(segments, segment, name, places, terms, "output" in verdicts))
    return {
        "readable": [[f"{part.address:#x}", len(part.data)] for part in segments.target.segments],
        "head": _head(segments, places, terms),
        "segments": found,
    }


def _locations(segments: Segments) -> list[Location]:
    """Every location that is known of where the head of the block loop is reached, once."""
    from verify.prove.invariants import locations

    if segments.loop is None:
        return []
    paths = (*segments.entry.paths, *segments.loop.body.paths)
    machines = [segments.loop.start, *(path.machine for path in paths if path.end == "cut")]
    found = dict.fromkeys(place for machine in machines for place, _ in locations(machine))
    for place in found:
        if place.index is not None and not place.index.is_constant:
            raise InputError(segments.target.source, f"no certificate: {place.space} is indexed")
    return list(found)


def _head(segments: Segments, places: Iterable[Location], terms: _Terms) -> dict[str, Any] | None:
    """What holds at the head of the block loop."""
    from verify.prove.invariants import read
    from verify.prove.secrets import secret_variables, unknown_parts

    loop = segments.loop
    if loop is None:
        return None
    order = {place: position for position, place in enumerate(places)}
    secret = secret_variables(segments)
    return {
        "address": f"{loop.head:#x}",
        "bound": loop.assumptions[0].op,
        "unknown": [
            {
                "variable": terms.use(unknown).name,
                "location": order[invariant.location],
                "high": high,
                "low": low,
                "clean": unknown not in secret,
            }
            for invariant in loop.invariants
            for unknown, high, low in unknown_parts(invariant)
        ],
        "state": [
            [place.space, place.offset, place.size, terms.use(read(loop.start, place))]
            for place in order
        ],
    }


def _segment(
    segments: Segments,
    segment: Segment,
    name: str,
    places: Iterable[Location],
    terms: _Terms,
    with_words: bool,
) -> dict[str, Any]:
    from verify.prove.invariants import read
    from verify.prove.setting import register_value

    machine = segment.machine
    if machine.memory.unknown_write:
        raise InputError(segments.target.source, "no certificate: a store to an unknown place")
    architecture, engine = segments.target.architecture, segments.engine
    returns = segment.end == "exit"
    guards = zip(machine.branches, segment.path.guards, strict=True)
    return {
        "name": name,
        "begin": _BEGINS[segment.begin],
        "end": _ENDS[segment.end],
        "guards": [[f"{address:#x}", terms.use(guard)] for address, guard in guards],
        "slow": [[f"{one.instruction:#x}", terms.use(one.value)] for one in machine.slow_operands],
        "target": terms.use(segment.path.target) if returns else None,
        "accesses": _accesses(segments, segment, terms),
        "memory": [
            [
                region,
                terms.use(index.term()) if region == "dst" else None,
                offset,
                size,
                terms.use(machine.converter.term(value)),
            ]
            for (region, index), cells in machine.memory.cells().items()
            for offset, size, value in cells
        ],
        "state": [terms.use(read(machine, place)) for place in places if segment.end == "loop"],
        "registers": {
            register.name: terms.use(register_value(machine, engine, architecture, register.name))
            for register in architecture.registers
            if returns and register.saved.value in ("callee-saved", "caller-saved")
        },
        "written": _written(segments, segment),
        "words": _words(segments, segment, terms) if with_words else [],
    }


def _accesses(segments: Segments, segment: Segment, terms: _Terms) -> list[dict[str, Any]]:
    """Every load and store, with the region, the offset in it, and the stack pointer then."""
    from verify.prove.stack import stack_pointers

    pointer_at = stack_pointers(segments, segment)
    found = []
    for access in segment.accesses:
        if access.place is None:
            raise InputError(
                segments.target.source,
                f"no certificate: the address at {access.instruction:#x} is in no single region",
            )
        found.append(
            {
                "instruction": f"{access.instruction:#x}",
                "kind": access.kind,
                "region": access.place.region,
                "offset": access.place.offset,
                "size": access.size,
                "address": terms.use(access.address),
                "value": terms.use(access.value),
                "stack_pointer": terms.use(pointer_at(access)),
            }
        )
    return found


def _written(segments: Segments, segment: Segment) -> list[str]:
    """The registers that an instruction of the segment writes."""
    from verify.properties.abi import writers

    registers = segments.target.architecture.registers
    return [one.name for one in registers if writers(segments, segment, one.storage)]


def _words(segments: Segments, segment: Segment, terms: _Terms) -> list[list[Any]]:
    """The values of the code that hold words of the specification: each after those below it."""
    from verify.properties.output import matched_words, origins

    origin = origins(segment)
    matched, made = matched_words(segments, segment)
    order = {word: position for position, word in enumerate(made)}
    return [
        [
            terms.use(term),
            f"{origin[term]:#x}" if term in origin else "",
            *(one for low, word in sorted(lanes.items()) for one in (low, order[word])),
        ]
        for term, lanes in matched.items()
    ]
