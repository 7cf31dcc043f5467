"""A refutation in words: some lines for each call of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specs.opaque_state import KEY_BYTES, KEY_OFFSET, PARAMETERS_BYTES, STATE_BYTES, decode
from verify.getrandom.execution.nearest import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.getrandom.execution.refute import Refutation
    from verify.getrandom.execution.seen import Seen
    from verify.history import Answer, Done, Interruption, Made, Program, Step

_SHOWN = 16
"""Bytes of a buffer or of a key that are shown."""
_SHOWN_CALLS = 4
"""System calls of one call that are shown, where there are more than a right one makes."""


def account(program: Program, one: Refutation) -> tuple[str, ...]:
    """The arguments of each call, what it met, what it did, and what was specified; then where the
    two part in the last one."""
    teller = _Teller(program)
    lines = []
    for number, (step, done) in enumerate(zip(one.history, one.done, strict=True)):
        lines.append(f"call {number}: {teller.call(step)}")
        lines.append(f"  meets      {teller.met(step)}")
        lines.append(f"  does       {teller.did(step, done)}")
        if one.expected:
            lines.append(f"  specified  {teller.did(step, one.expected[number])}")
    where = ", inside a time namespace" if one.history[-1].inside else ""
    lines.append(f"call {len(one.history) - 1}{where}: {one.text}")
    return tuple(lines)


def account_of_pair(program: Program, one: Seen) -> tuple[str, ...]:
    """The arguments of both calls, what each met, with all secrets, and what it did; then what
    shows."""
    teller = _Teller(program)
    lines = []
    for number, (step, done) in enumerate(zip(one.pair.steps, one.done, strict=True)):
        lines.append(f"call {number}: {teller.call(step)}")
        lines.append(f"  meets      {teller.met(step)}")
        if one.pair.seeds[number] is None:
            lines.append("             zeros in all registers and memory of which nothing is said")
        lines += (f"  {what:<9}  {octets.hex()}" for what, octets in _secrets(step))
        lines.append(f"  does       {teller.did(step, done)}")
    lines.append(f"they differ in {difference(one.pair)}")
    lines.append(one.text)
    return tuple(lines)


def _secrets(step: Step) -> Iterator[tuple[str, bytes]]:
    if step.state is not None:
        yield "state", step.state
    for number, answer in enumerate(step.answers):
        if answer.result == KEY_BYTES:
            yield f"key {number}", answer.written


class _Teller:
    def __init__(self, program: Program) -> None:
        self._order = program.port.byte_order

    def call(self, step: Step) -> str:
        """The arguments."""
        call = step.call
        return (
            f"getrandom({call.buffer:#x}, {call.len}, {call.flags:#x}, {call.opaque_state:#x},"
            f" {call.opaque_len})"
        )

    def met(self, step: Step) -> str:
        """What is there when it begins, and what happens meanwhile."""
        ready = "ready" if step.is_ready else "not ready"
        parts = [f"generation {step.generation}, {ready}"]
        if step.inside:
            parts.insert(0, "the page of a time namespace")
        if step.state is not None:
            parts.append(self._state(step.state))
        answers = enumerate(step.answers)
        parts += _few([f"system call {n}: {self._answer(answer)}" for n, answer in answers])
        parts += map(self._interruption, step.interruptions)
        return ", ".join(parts)

    def did(self, step: Step, done: Done) -> str:
        """What a call did, and leaves."""
        parts = _few([self._made(step, made) for made in done.made])
        parts.append("does not return" if done.result is None else f"returns {done.result}")
        parts += [breach.text for breach in done.breaches]
        if done.result is not None and done.result > 0:
            parts.append(f"buffer {_octets(done.buffer[: done.result])}")
        for happening, nested in zip(step.interruptions, done.nested, strict=False):
            if happening.call is not None:
                parts.append(f"the handler's call {self.did(happening.call, nested)}")
        if step.call.opaque_len == STATE_BYTES:
            parts.append(f"leaves {self._state(done.state)}")
        else:
            parts.append(
                f"leaves {_octets(done.state[:PARAMETERS_BYTES])} at {step.call.opaque_state:#x}"
            )
        return ", ".join(parts)

    def _state(self, memory: bytes) -> str:
        if memory == bytes(STATE_BYTES):
            return "a state of zeros"
        state = decode(memory, self._order)
        in_use = f", in_use {state.in_use}" if state.in_use else ""
        return f"a state of generation {state.generation}, pos {state.pos}{in_use}"

    def _made(self, step: Step, made: Made) -> str:
        call = made.call
        key = call.buffer == step.call.opaque_state + KEY_OFFSET
        where = f"{'state + ' + str(KEY_OFFSET) if key else hex(call.buffer)}"
        asked = f"system call {made.number}({where}, {call.len}, {call.flags:#x})"
        return f"{asked} with {self._state(made.state)}"

    def _answer(self, answer: Answer) -> str:
        parts = [f"gives {answer.result}"]
        if answer.written:
            parts.append(f"({_octets(answer.written)})")
        parts += [f"while {text}" for text in self._becomes(answer)]
        return " ".join(parts)

    def _interruption(self, happening: Interruption) -> str:
        what = [f"in front of {happening.address:#x}"]
        if happening.after:
            what.append(f"after {happening.after} system calls")
        what += self._becomes(happening)
        if happening.call is not None:
            handler = happening.call
            what.append(f"a handler calls {self.call(handler)} and meets {self.met(handler)}")
        return " ".join(what)

    def _becomes(self, change: Answer | Interruption) -> Iterator[str]:
        if change.state is not None:
            yield f"the state becomes {self._state(change.state)}"
        if change.generation is not None:
            yield f"the generation becomes {change.generation}"


def _few(parts: list[str]) -> list[str]:
    """The first of them, and how many more there are."""
    more = len(parts) - _SHOWN_CALLS
    return parts if more <= 0 else [*parts[:_SHOWN_CALLS], f"and {more} more"]


def _octets(content: bytes) -> str:
    more = " ..." if len(content) > _SHOWN else ""
    return f"{content[:_SHOWN].hex(' ')}{more}"
