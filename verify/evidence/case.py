"""One refuted property, for a notebook to tell of: every method shows something, computed anew."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from verify.batch import targets_in
from verify.counterexample import Look
from verify.errors import InputError, printable
from verify.evidence import page, pictures
from verify.evidence.calls import block_words, calls_of
from verify.evidence.pictures import limits_of
from verify.evidence.replay import Refuted, again, read_outcome, refuted_in, target_of
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.qemu import QemuError, available
from verify.report.counterexample import key_bytes, place
from verify.resultjson import Outcome
from verify.verdict import Verdict
from verify.witness import Inputs, breaches, execute, other_key

if TYPE_CHECKING:
    from verify.counterexample import Counterexample
    from verify.evidence.page import Page
    from verify.prove.deviation import Call
    from verify.prove.follow import Node
    from verify.prove.segments import Segment, Segments
    from verify.target import Target
    from verify.terms import Term

_AROUND = 6
"""Instructions that are shown in front of and behind one."""
_FLOW = 10


def _in_two(parts: list[str]) -> str:
    """Words or bytes in lines of the half of them, or of eight at most."""
    size = max(min(len(parts) // 2, 16 if len(parts[0]) == 2 else 4), 1)
    lines = [" ".join(parts[at : at + size]) for at in range(0, len(parts), size)]
    return "<br>".join(page.code(line) for line in lines)


def _proved(file: str, property_id: str) -> tuple[Refuted, Target]:
    (found, *_) = targets_in(file, None)
    if isinstance(found, InputError):
        raise found
    import_angr()
    from verify.run import prove

    result = prove(found, Options())
    refuted = refuted_in(Outcome((result,)), file, property_id)[0]
    return refuted, target_of(refuted, file)


class Case:
    """A refuted property of a result, with the bytes that it is about."""

    def __init__(self, refuted: Refuted, target: Target) -> None:
        import_angr()
        self.result = refuted.result
        self.property = refuted.property
        self.found: Counterexample = refuted.counterexample
        self.target = target
        self._refuted = refuted

    @classmethod
    def read(cls, file: str, property_id: str, binary: str | None = None, number: int = 0) -> Case:
        """The case of a property in what `prove --json` wrote: of the `number`-th function of those
        in which it is refuted, from 0. Raises InputError as `replay` does."""
        refuted = refuted_in(read_outcome(file), file, property_id)[number]
        return cls(refuted, target_of(refuted, binary))

    @classmethod
    def prove(cls, file: str, property_id: str) -> Case:
        """The case of a property of the function in a file, which is proved now. Raises InputError
        where there is none, or the property is not refuted."""
        return cls(*_proved(file, property_id))

    @cached_property
    def segments(self) -> Segments:
        """The function, executed symbolically from cut point to cut point."""
        from verify.lift.select import engine_for
        from verify.prove.segments import segments_of

        return segments_of(self.target, engine_for(self.target.architecture, self.target.code))

    @cached_property
    def inputs(self) -> Inputs:
        """The call of the counterexample."""
        return calls_of(self.found)[0]

    def _call(self, inputs: Inputs) -> Call:
        from verify.prove.deviation import Call

        return Call(inputs.key, inputs.counter, inputs.nblocks)

    def claim(self) -> Page:
        """What was claimed of which bytes, and how each obligation was decided."""
        summary = self.result.target
        rows = [
            ("function", page.code(printable(f"{summary.function} at {summary.address:#x}"))),
            ("file", page.text(printable(summary.source.rsplit("/", 1)[-1]))),
            ("SHA-256 of it", page.code(self.target.function_sha256)),
            ("architecture", page.text(self.target.architecture.title)),
            ("claim", page.text(self.property.title)),
            ("verdict", f"<strong>{self.property.verdict.value}</strong>"),
            ("tools", page.text(", ".join(f"{n} {v}" for n, v in self.result.tools.items()))),
        ]
        failing = [one for one in self.property.checks if one.verdict is Verdict.REFUTED]
        obligations = (
            (page.code(one.id), page.text(one.claim), page.text(one.verdict.value))
            for one in failing[:5]
        )
        return page.joined(
            page.facts(rows), page.table(("obligation", "claim", "verdict"), obligations)
        )

    def counterexample(self) -> Page:
        """The inputs, and what came of them against what should have."""
        found, name = self.found, self.target.architecture.name
        rows = [
            ("what", page.text(found.what)),
            ("key words", _in_two([f"{word:08x}" for word in found.key])),
            ("key bytes", _in_two(key_bytes(found.key, name).hex(" ").split())),
            ("counter", page.code(f"{found.counter:#018x}")),
            ("blocks", page.text(found.nblocks)),
        ]
        if found.in_place:
            rows.append(("key at", page.text("dst + 96, as in a refill")))
        if found.other_key:
            other = [f"{word:08x}" for word in found.other_key]
            rows.append(("second key", _in_two(other)))
        rows += [("expected", page.code(found.expected)), ("actual", page.code(found.actual))]
        rows += [("note", page.text(note)) for note in found.notes]
        rows.append(("executed by", page.text(found.executed_by)))
        shown = page.facts(rows)
        if found.expected_words:
            title = f"block {found.block}"
            pair = page.words(
                found.expected_words,
                found.actual_words,
                f"{title}, expected",
                f"{title}, actual (≠ differs)",
            )
            shown = page.joined(shown, pair)
        return shown

    def replayed(self) -> Page:
        """The counterexample executed again, now."""
        by = available(self.target.architecture.name)
        try:
            breach = again(self.target, self.found)
        except QemuError as error:
            return page.facts([("executed now", page.text(f"no: {error}"))])
        if breach is None:
            return page.facts([("executed now", page.text(f"by {by}: the fault does not show"))])
        return page.facts(
            [
                ("executed now", page.text(f"by {by}")),
                ("seen", page.text(breach.what)),
                ("expected", page.code(breach.expected)),
                ("actual", page.code(breach.actual)),
            ]
        )

    def departure(self) -> Page:
        """Where the code leaves the specification, and where it has the state there."""
        at = self.found.departure
        if at is None:
            said = "the output is ChaCha20's, word by word"
            if self.found.block is not None:
                said = "no operation is wrong where regions do not overlap: what is read is"
            return page.facts([("state", page.text(said))])
        head = page.facts(
            [
                ("where", page.text(place(at))),
                ("state word", page.code(f"x{at.word}, to become {at.expected:08x}")),
                (
                    "instruction",
                    page.code(f"{self.found.deviation:#x}: {self.found.deviation_text}"),
                ),
                ("executed before", page.text(f"{at.visit - 1} times in this call")),
                *([("source", page.code(self.found.source))] if self.found.source else []),
            ]
        )
        rows = []
        for row in range(0, 16, 4):
            cells = [f"<strong>x{row}</strong>"]
            cells += [
                page.code(", ".join(word.held_in) or "-") + f"<br>{word.value:08x}"
                for word in at.state[row : row + 4]
            ]
            rows.append(cells)
        return page.joined(head, page.table(("", "+0", "+1", "+2", "+3"), rows))

    def rounds(self) -> Page:
        """A picture of the state at the end of each round."""
        from verify.prove.follow import operations

        block = self.found.block or 0
        made = operations(self.segments, self._call(self.inputs), block)
        drawn = pictures.rounds(made, self.found.departure)
        return page.picture(
            drawn,
            f"The state of block {block} at the end of each round. White: the code has the"
            " specification's value. Hatched: it never has. The cross is the word that leaves the"
            " specification first.",
        )

    def memory(self) -> Page:
        """A picture of every store of a call of one block with this key and counter."""
        from verify.prove.follow import writes

        inputs = replace(self.inputs, nblocks=1, in_place=False)
        written = writes(self.segments, self._call(inputs))
        return page.picture(
            pictures.memory(written, limits_of(self.target.architecture)),
            "Every store of a call of one block. Hatched: what is stored depends on the key. The"
            " dashed lines are the limits of what the function may write; grey is outside.",
        )

    def disassembly(self) -> Page:
        """The code around the instruction at fault."""
        at = self.found.deviation
        function = self.target.function
        lines = self.segments.engine.disassemble(function.address, function.size)
        index = next((n for n, (address, _) in enumerate(lines) if address == at), None)
        if index is None:
            return page.listing(["no instruction is at fault by itself"])
        around = lines[max(index - _AROUND, 0) : index + _AROUND + 1]
        return page.listing(
            f"{'->' if address == at else '  '} {address:6x}  {text}" for address, text in around
        )

    def again(
        self,
        key: tuple[int, ...] | None = None,
        counter: int | None = None,
        nblocks: int | None = None,
    ) -> Page:
        """The call with other inputs: what breaks, and the first block that is wrong."""
        inputs = replace(
            self.inputs,
            key=self.inputs.key if key is None else key,
            counter=self.inputs.counter if counter is None else counter,
            nblocks=self.inputs.nblocks if nblocks is None else nblocks,
            in_place=self.inputs.in_place and nblocks in (None, 2),
        )
        one, twin = execute(self.target, [inputs, other_key(inputs)])
        found = breaches(one, twin)
        rows = [
            ("key words", _in_two([f"{word:08x}" for word in inputs.key])),
            ("counter", page.code(f"{inputs.counter:#018x}")),
            ("blocks", page.text(inputs.nblocks)),
            *((breach.property, page.text(f"{breach.what}")) for breach in found),
        ]
        if not found:
            rows.append(("seen", page.text("nothing wrong in what is there at the return")))
        wrong = next((breach.block for breach in found if breach.block is not None), 0)
        expected, actual = block_words(self.target, inputs, wrong)
        title = f"block {wrong}"
        return page.joined(
            page.facts(rows),
            page.words(expected, actual, f"{title}, expected", f"{title}, actual (≠ differs)"),
        )

    def residues(self) -> Page:
        """What is left behind that depends on the key."""
        rows = [
            (
                page.code(one.register),
                page.text(one.holds),
                page.text(one.gives_away),
                page.code("" if one.writer is None else f"{one.writer:#x}"),
            )
            for one in self.result.residues
            if one.kind == "key-dependent"
        ]
        rows += [
            (
                page.code(f"sp{one.offset:+d}"),
                page.text(one.holds),
                page.text(f"{one.size} bytes in the {one.place}"),
                page.code(f"{one.instruction:#x}: {one.text}"),
            )
            for one in self.result.stack_writes
            if one.kind == "secret"
        ]
        return page.table(("place", "depends on", "gives away", "written at"), rows)

    @cached_property
    def _residue(self) -> tuple[Segment, Term, int]:
        """The path that leaves the residue, its value there as a term, and as it is in a call."""
        from verify.prove.follow import segment_of, store_of

        segment = segment_of(self.segments, self._call(self.inputs), 0)
        at = self.found.observation
        if at.look is Look.REGISTER:
            from verify.prove.setting import register_value

            architecture = self.target.architecture
            value = register_value(segment.machine, self.segments.engine, architecture, at.register)
            (done,) = execute(self.target, [self.known])
            return segment, value, done.register(at.register)
        if at.instruction is None:
            raise LookupError("the residue is not in a register and not of one store")
        segment, access = store_of(self.segments, self._call(self.known), at.instruction)
        from verify.witness import stopped_after

        stopped = stopped_after(self.target, self.known, at.instruction)
        assert stopped is not None
        data = stopped.memory("stack", at.offset, at.size)
        return segment, access.value, int.from_bytes(data, self.target.architecture.byte_order)

    @cached_property
    def known(self) -> Inputs:
        """A call of one block with a key that is like any other, for an attacker to look for."""
        return other_key(replace(self.inputs, nblocks=1, in_place=False))

    def flow(self) -> Page:
        """A picture of the way from the key to the residue."""
        from verify.prove.follow import flow

        segment, value, _ = self._residue
        at = self.found.observation
        ending = f"{at.register} at the return"
        if at.instruction is not None:
            ending = f"sp{at.offset:+d}, written at {at.instruction:#x}"
        nodes = flow(self.segments, segment, self._call(self.known), value, ending, _FLOW)
        return page.picture(
            pictures.flow(nodes, [self._text(node) for node in nodes]),
            "How the residue comes from the key: the instructions in the order in which they are"
            " executed, and what each writes. An arrow goes to the one that takes the value.",
        )

    def _text(self, node: Node) -> str:
        if node.instruction is None:
            return node.text
        size = self.target.architecture.instruction_bytes
        listed = dict(self.segments.engine.disassemble(node.instruction, size))
        return f"{node.instruction:x}: {listed.get(node.instruction, '')} makes {node.value:#x}"

    def recovered(self) -> Page:
        """What somebody computes of the key who sees the residue and the block of output."""
        from verify.prove.recover import recover

        segment, value, seen = self._residue
        inputs = self.known
        (done,) = execute(self.target, [inputs])
        data = done.memory("dst", 0, 64)
        block = [int.from_bytes(data[at : at + 4], "little") for at in range(0, 64, 4)]
        found = recover(self.segments, segment, value, seen, block, inputs.counter)
        rows = []
        for one in found:
            key = inputs.key[one.word]
            wrong = (key ^ one.value) & one.mask
            off = min((key - one.value) % 2**32, (one.value - key) % 2**32)
            certain = "".join(
                str(one.value >> bit & 1) if one.mask >> bit & 1 else "."
                for bit in range(31, -1, -1)
            )
            rows.append(
                (
                    page.code(f"key word {one.word}"),
                    page.code(certain),
                    page.code(f"{one.value:08x}"),
                    page.text(f"below 2^{one.error}" if one.error else "none"),
                    page.code(f"{key:08x}"),
                    page.text("yes" if not wrong and off < max(1 << one.error, 1) else "NO"),
                )
            )
        head = page.facts(
            [
                ("residue seen", page.code(f"{seen:#x}")),
                ("output seen", _in_two([f"{word:08x}" for word in block])),
            ]
        )
        if not rows:
            return page.joined(
                head, page.facts([("recovered", page.text("no bit is shown to follow"))])
            )
        titles = ("of", "certain bits", "a value", "its error", "the key has", "agrees")
        return page.joined(head, page.table(titles, rows))
