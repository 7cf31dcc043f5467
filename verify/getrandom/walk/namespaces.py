"""Which reads of the kernel's data are of the right page, within and without a time namespace.

A process is in one namespace as long as a call runs (`data-page-given`), so one variable stands
for whether it is inside one. clock_mode may be another at each read, as the clock may be; but
whether it is that of a namespace's page is the same each time. To read it is no act.
"""

from __future__ import annotations

from dataclasses import replace

from verify.arch.kerneldata import CLOCK_MODE_BYTES, INSIDE, Layout
from verify.getrandom.reasoning.questions import Facts, Questions
from verify.getrandom.walk.events import PageRead
from verify.history.memory import DATA_BYTES
from verify.terms import Term, conjunction, const, disjunction, equal, negate, var

IN_NAMESPACE = equal(var("inside a time namespace", 1), const(1, 1))
_ALWAYS = conjunction(())


def said_of_namespace(layout: Layout, base: int, read: PageRead) -> Term | None:
    """What a read of clock_mode says of the namespace, where the image is read at `base`; None for
    any other read."""
    namespace = layout.namespace
    if namespace is None or read.size != CLOCK_MODE_BYTES:
        return None
    if read.address != base - namespace.clock_mode:
        return None
    of_namespace = equal(read.value, const(INSIDE, 8 * CLOCK_MODE_BYTES))
    return disjunction(
        (
            conjunction((IN_NAMESPACE, of_namespace)),
            conjunction((negate(IN_NAMESPACE), negate(of_namespace))),
        )
    )


def start_of_data(layout: Layout, facts: Facts, questions: Questions) -> int | None:
    """How many bytes in front of the image the generator's data lie; None if the facts do not show
    it."""
    found = (at for at, condition in _starts(layout) if questions.follows(facts, condition))
    return next(found, None)


def _starts(layout: Layout) -> tuple[tuple[int, Term], ...]:
    """How many bytes in front of the image the generator's data lie, and when."""
    namespace = layout.namespace
    if namespace is None:
        return ((layout.data_page, _ALWAYS),)
    return ((layout.data_page, negate(IN_NAMESPACE)), (namespace.data_page, IN_NAMESPACE))


def placed(
    layout: Layout, base: int, facts: Facts, questions: Questions, read: PageRead
) -> PageRead:
    """The read with where in the generator's data it lies, if the facts show that it is of them."""
    if read.offset is not None:
        return replace(read, address=base - layout.data_page + read.offset)
    for start, condition in _starts(layout):
        offset = read.address - (base - start)
        if 0 <= offset < DATA_BYTES and questions.follows(facts, condition):
            return replace(read, offset=offset)
    return read
