"""Smaller histories of the same kind, to find the smallest that still shows something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES, STATE_BYTES, decode
from verify.history.catalogue import BUFFER, KEYS, STATE, Histories, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.history.model import Answer, History, Program, Step

GENERATION = 7
"""What is in the data page of a call that is small in this."""


def smaller(program: Program, history: History) -> list[History]:
    """Histories with one thing made smaller, the smallest of them first."""
    size = _size(program, history)
    found = {other: _size(program, other) for other in _variations(program, history)}
    fitting = [other for other, its_size in found.items() if its_size < size]
    return sorted(fitting, key=lambda other: found[other])


def _size(program: Program, history: History) -> tuple[int, ...]:
    """Fewest calls, then fewest answers and of them what happens meanwhile, then bytes, then how
    many values are unusual."""
    steps = [*history, *(one.call for step in history for one in step.interruptions if one.call)]
    answers = [answer for step in steps for answer in step.answers]
    return (
        len(history),
        len(answers),
        sum((answer.state is not None) + (answer.generation is not None) for answer in answers),
        sum(step.call.len for step in steps),
        sum(step.call.flags.bit_count() for step in steps),
        sum(_unusual(program, step) for step in steps),
        sum(
            answer.written not in {key[: len(answer.written)] for key in KEYS} for answer in answers
        ),
    )


def _unusual(program: Program, step: Step) -> int:
    state = bytes(STATE_BYTES) if step.state is None else step.state
    held = decode(state, program.port.byte_order)
    return sum(
        (
            step.inside,
            not step.is_ready,
            step.generation != GENERATION,
            step.call.buffer not in (0, BUFFER),
            step.call.opaque_state != STATE,
            step.call.opaque_len != STATE_BYTES,
            state != bytes(STATE_BYTES),
            held.pos not in (0, BATCH_BYTES),
            held.in_use,
            held.generation not in (0, GENERATION),
            any(held.padding),
            state not in _usual_states(program, step),
        )
    )


def _usual_states(program: Program, step: Step) -> list[bytes]:
    """Those that a call may as well meet."""
    if step.state is None:
        return [bytes(STATE_BYTES)]
    histories, held = Histories(program), decode(step.state, program.port.byte_order)
    places = sorted({0, held.pos, BATCH_BYTES // 2, BATCH_BYTES - 1, BATCH_BYTES})
    numbers = sorted({held.generation, GENERATION, GENERATION - 1})
    return [
        bytes(STATE_BYTES),
        *(
            histories.state(generation, pos, in_use)
            for generation in numbers
            for pos in places
            for in_use in sorted({0, held.in_use})
        ),
    ]


def _variations(program: Program, history: History) -> Iterator[History]:
    yield within(history, inside=False)
    for number, step in enumerate(history):
        if len(history) > 1:
            yield (*history[:number], *history[number + 1 :])
        for other in _variations_of(program, step):
            yield (*history[:number], other, *history[number + 1 :])


def _variations_of(program: Program, step: Step) -> Iterator[Step]:
    call = step.call
    lengths = {0, 1, call.len // 2, call.len - 1, *(1 << bit for bit in range(8))}
    for length in sorted(length for length in lengths if 0 <= length < call.len):
        buffer = step.buffer[:length]
        yield replace(step, call=replace(call, len=length), buffer=buffer)
    for bit in range(call.flags.bit_length()):
        yield replace(step, call=replace(call, flags=call.flags & ~(1 << bit)))
    yield replace(step, call=replace(call, flags=0))
    yield replace(step, call=replace(call, buffer=BUFFER))
    yield replace(step, call=replace(call, opaque_state=STATE))
    yield replace(step, call=replace(call, opaque_len=STATE_BYTES))
    yield replace(step, is_ready=1)
    yield replace(step, generation=GENERATION)
    for state in _usual_states(program, step):
        yield replace(step, state=state)
        yield replace(step, state=state, generation=GENERATION)
    for number, answer in enumerate(step.answers):
        before, behind = step.answers[:number], step.answers[number + 1 :]
        yield replace(step, answers=(*before, *behind))
        for other in _variations_of_answer(answer, number):
            yield replace(step, answers=(*before, other, *behind))
    for number, happening in enumerate(step.interruptions):
        before_it, behind_it = step.interruptions[:number], step.interruptions[number + 1 :]
        for handler in _variations_of(program, happening.call) if happening.call else ():
            changed = replace(happening, call=replace(handler, state=None))
            yield replace(step, interruptions=(*before_it, changed, *behind_it))


def _variations_of_answer(answer: Answer, number: int) -> Iterator[Answer]:
    yield replace(answer, state=None)
    yield replace(answer, generation=None)
    yield replace(answer, written=KEYS[number % len(KEYS)][: len(answer.written)])
