"""One function and its proof, for a notebook: every method shows something, computed anew."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verify.batch import targets_in
from verify.errors import InputError, printable
from verify.evidence import page, pictures
from verify.evidence.calls import block_words
from verify.evidence.pictures import limits_of
from verify.lift.angr_import import import_angr
from verify.options import PROPERTIES, Options
from verify.qemu import available
from verify.witness import Inputs, other_key
from verify.witness.inputs import ZEROS

if TYPE_CHECKING:
    from verify.evidence.page import Page
    from verify.prove.deviation import Call
    from verify.prove.segments import Segments
    from verify.verdict import Result

_SHOWN = 8
_WIDEST = 100
_ROUND = 48
"""Operations of one round."""


def beside(left: Page, right: Page) -> Page:
    """Two pieces side by side, or one below the other where there is no room."""
    return page.Page(f'<div class="beside"><div>{left}</div><div>{right}</div></div>')


class Tour:
    """The function in a file, and everything that is said of it."""

    def __init__(self, file: str) -> None:
        (found, *_) = targets_in(file, None)
        if isinstance(found, InputError):
            raise found
        self.target = found

    @cached_property
    def segments(self) -> Segments:
        """The function, executed symbolically from cut point to cut point."""
        import_angr()
        from verify.lift.select import engine_for
        from verify.prove.segments import segments_of

        return segments_of(self.target, engine_for(self.target.architecture, self.target.code))

    @cached_property
    def result(self) -> Result:
        """What `prove` says of it."""
        import_angr()
        from verify.run import prove

        return prove(self.target, Options())

    @property
    def call(self) -> Call:
        """A call of one block with a key that is like any other."""
        from verify.prove.deviation import Call

        return Call(other_key(Inputs(ZEROS, 0, 1)).key, 0x1_0000_0001, 1)

    def function(self) -> Page:
        """The function and its loops."""
        function = self.target.function
        loops = [
            (
                page.code(f"{loop.head:#x}"),
                page.text("blocks" if self._is_cut(loop.head) else "rounds"),
                page.text(len(loop.blocks)),
            )
            for loop in self.segments.flow.loops
        ]
        return page.joined(
            page.facts(
                [
                    ("name", page.code(printable(function.name))),
                    ("address", page.code(f"{function.address:#x}")),
                    ("size", page.text(f"{function.size} bytes")),
                    ("found by", page.text(printable(function.located))),
                    ("architecture", page.text(self.target.architecture.title)),
                ]
            ),
            page.table(("loop at", "runs over", "basic blocks"), loops),
        )

    def _is_cut(self, head: int) -> bool:
        return self.segments.loop is not None and self.segments.loop.head == head

    def block(self, key: tuple[int, ...] = ZEROS, counter: int = 0) -> Page:
        """One block by the specification and by the real bytes."""
        expected, actual = block_words(self.target, Inputs(key, counter, 1), 0)
        by, *_ = (available(self.target.architecture.name) or "nothing").split()
        return page.words(expected, actual, "by the specification", f"by the code under {by}")

    def paths(self) -> Page:
        """The paths between the cut points."""
        rows = [
            (
                page.text(segment.name),
                page.text(len(segment.machine.steps)),
                page.text(sum(access.kind == "read" for access in segment.accesses)),
                page.text(sum(access.kind == "write" for access in segment.accesses)),
                page.text(len(segment.assumptions)),
            )
            for segment in self.segments
        ]
        return page.table(("path", "instructions", "loads", "stores", "assumptions"), rows)

    def invariants(self) -> Page:
        """Some of what holds at the head of the block loop."""
        loop = self.segments.loop
        if loop is None:
            return page.facts([("block loop", page.text("none"))])
        layout = self.segments.engine.layout
        rows = []
        for one in loop.invariants:
            if one.kind in ("advances", "counter") or (one.kind == "constant" and one.value.args):
                where = one.location
                name = f"{where.space} {where.offset:+d}"
                if where.space == "register":
                    name = layout.enclosing(where.offset, where.size)[0]
                rows.append((page.code(name), page.text(one.kind), page.code(one.value)))
        return page.table(("location", "kind", "value at the head"), rows[:_SHOWN])

    def words(self) -> Page:
        """How many words of the specification the code makes, and a picture of them."""
        from verify.prove.follow import operations

        made = operations(self.segments, self.call, 0)
        drawn = pictures.rounds(made, None)
        return page.picture(
            drawn,
            f"{sum(one.made for one in made)} of {len(made)} operations of one block have their"
            " value among those that the code writes. White: so it is at the end of that round.",
        )

    def state(self) -> Page:
        """Where the 16 words are at the end of the first round."""
        from verify.prove.follow import state_after

        words = state_after(self.segments, self.call, _ROUND - 1)
        rows = []
        for row in range(0, 16, 4):
            cells = [page.code(" ".join(one.held_in) or "-") for one in words[row : row + 4]]
            rows.append([f"<strong>x{row}</strong>", *cells])
        title = self.target.architecture.title
        return page.joined(
            page.facts([("architecture", page.text(title))]),
            page.table(("", "+0", "+1", "+2", "+3"), rows),
        )

    def verdicts(self, *properties: str) -> Page:
        """The verdict of each property, or of those."""
        rows = [
            (
                page.text(one.property),
                f"<strong>{one.verdict.value}</strong>",
                page.text(len(one.checks)),
                page.text(one.reason or one.title),
            )
            for one in self.result.properties
            if one.property in (properties or PROPERTIES)
        ]
        return page.table(("property", "verdict", "obligations", ""), rows)

    def obligation(self, property_id: str, claim: str) -> Page:
        """Of the obligations of a property whose claim begins so, and that are not obvious, the one
        that is needed most often: its claim, and what a solver shows to be impossible."""
        from verify.properties import PROPERTIES as ALL
        from verify.terms import negate
        from verify.terms.smt import to_smtlib

        (stated,) = (one for one in ALL if one.id == property_id)
        obligations = stated.state(self.segments).obligations
        alike = [each for each in obligations if each.claim.startswith(claim)]
        one = max(
            (each for each in alike if each.formula.value is None), key=lambda each: each.instances
        )
        lines = to_smtlib([*one.assumptions, negate(one.formula)]).splitlines()
        return page.joined(
            page.facts(
                [
                    ("obligation", page.code(one.id)),
                    ("claim", page.text(one.claim)),
                    ("needed", page.text(f"{one.instances} times")),
                ]
            ),
            page.listing(
                line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..." for line in lines
            ),
        )

    def memory(self) -> Page:
        """A picture of every store of a call of one block."""
        from verify.prove.follow import writes

        written = writes(self.segments, self.call)
        title = self.target.architecture.title
        return page.picture(
            pictures.memory(written, limits_of(self.target.architecture)),
            f"{title}: every store of one block. Hatched: what is stored depends on the key.",
        )

    def stack(self) -> Page:
        """Every store relative to the stack pointer."""
        rows = [
            (
                page.code(f"sp{one.offset:+d}"),
                page.text(f"{one.size} bytes"),
                page.text(one.holds),
                page.text(one.place),
            )
            for one in self.result.stack_writes
        ]
        return page.joined(
            page.facts([("stack", page.text(self.result.discipline))]),
            page.table(("at", "size", "holds", "place"), rows),
        )


__all__ = ["Tour", "beside"]
