"""What one run said, as JSON and back without loss (`schema/result.schema.json`)."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from verify import __version__
from verify.anatomy import ListedInstruction
from verify.callhistory import (
    HistoryCall,
    HistoryInterruption,
    KernelAnswer,
    SystemCallMade,
)
from verify.counterexample import Counterexample, Departure, Observation, RegisterValue, StateWord
from verify.inspection import Inspection, Instruction, LoopShape
from verify.verdict import (
    FORMAT,
    CalledFunction,
    Check,
    Environment,
    LoopSummary,
    PatchSummary,
    PropertyResult,
    Residue,
    Result,
    StackWrite,
    TargetSummary,
    Verdict,
)

HEXADECIMAL: Mapping[tuple[type, str], int] = {
    (Check, "instructions"): 1,
    (Counterexample, "key"): 8,
    (Counterexample, "counter"): 16,
    (Counterexample, "deviation"): 1,
    (Counterexample, "other_key"): 8,
    (Counterexample, "expected_words"): 8,
    (Counterexample, "actual_words"): 8,
    (Departure, "expected"): 8,
    (Observation, "instruction"): 1,
    (RegisterValue, "value"): 1,
    (StateWord, "value"): 8,
    (StackWrite, "instruction"): 1,
    (Residue, "writer"): 1,
    (LoopSummary, "head"): 1,
    (LoopSummary, "last"): 1,
    (LoopSummary, "back"): 1,
    (TargetSummary, "address"): 1,
    (CalledFunction, "address"): 1,
    (HistoryCall, "buffer"): 1,
    (HistoryCall, "len"): 1,
    (HistoryCall, "opaque_state"): 1,
    (HistoryCall, "opaque_len"): 1,
    (HistoryCall, "generation"): 1,
    (HistoryInterruption, "address"): 1,
    (HistoryInterruption, "generation"): 1,
    (KernelAnswer, "generation"): 1,
    (SystemCallMade, "buffer"): 1,
    (SystemCallMade, "len"): 1,
    (PatchSummary, "address"): 1,
    (LoopShape, "head"): 1,
    (LoopShape, "last"): 1,
    (Instruction, "address"): 1,
    (ListedInstruction, "address"): 1,
}
"""The numbers written as "0x..." with at least so many digits: addresses and machine words, which
readers of JSON with 53-bit numbers would damage."""


ADDED = frozenset(
    {
        (PropertyResult, "history"),
        (PropertyResult, "pair"),
        *((Environment, name) for name in ("clock_mode", "inside", "linux", "linux_by")),
        (HistoryCall, "inside"),
        *((Result, name) for name in ("anatomies", "contract", "environment")),
        *((LoopSummary, name) for name in ("last", "back", "passes", "held")),
    }
)
"""Members that results of this format lacked once: they are read as if they were empty, and the
contract as ChaCha20's."""


class Failed(Enum):
    """Why there is no result."""

    INPUT = "input"
    """The input or the command cannot be used."""
    INTERNAL = "internal"
    """The harness failed."""
    INTERRUPTED = "interrupted"
    """The user ended the run."""


@dataclass(frozen=True)
class Failure:
    """Something that could not be proved or refuted at all.

    `source` is the file as the user named it, "" where it is none; `reason` is one line.
    """

    kind: Failed
    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}" if self.source else self.reason


@dataclass(frozen=True)
class Outcome:
    """Everything that one run said."""

    results: tuple[Result, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def exit_code(self) -> int:
        """What the process returns: the first that applies of 130 (interrupted), 1 (something is
        REFUTED), 2 (bad input), 3 (something is UNKNOWN or VACUOUS, or the harness failed), 0."""
        verdicts = {result.verdict for result in self.results}
        failed = {failure.kind for failure in self.failures}
        if Failed.INTERRUPTED in failed:
            return 130
        if Verdict.REFUTED in verdicts:
            return 1
        if Failed.INPUT in failed:
            return 2
        return 0 if verdicts == {Verdict.PROVED} and not failed else 3


def to_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON values."""
    results = [{"verdict": result.verdict.value, **encode(result)} for result in outcome.results]
    return _document(exit_code=outcome.exit_code, results=results, errors=encode(outcome.failures))


def inspections_to_json(
    inspections: Sequence[Inspection], failures: Sequence[Failure]
) -> dict[str, Any]:
    """What was found in files as JSON values (`schema/inspection.schema.json`)."""
    return _document(inspections=encode(inspections), errors=encode(failures))


def _document(**content: Any) -> dict[str, Any]:
    generator = {"name": "vdso-verify", "version": __version__}
    return {"format": FORMAT, "generator": generator, **content}


def from_json(document: Any) -> Outcome:
    """The outcome that `to_json` wrote; raises ValueError for another format or a damaged one."""
    try:
        if document["format"] != FORMAT:
            raise ValueError(f"results of format {document['format']!r}, not {FORMAT}")
        if "inspections" in document:
            raise ValueError("it is what inspect found")
        return Outcome(
            decode(tuple[Result, ...], document["results"]),
            decode(tuple[Failure, ...], document["errors"]),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"a member is missing or has another type: {error}") from None


_COLUMNS = 140


def dumps(document: Mapping[str, Any]) -> str:
    """JSON text in ASCII, with a final line end. What fits is on one line."""
    return "".join(_lines(document, "", "")) + "\n"


def _lines(value: Any, indent: str, before: str) -> Iterator[str]:
    """Pieces of text; `before` is what stands in front of the value on its line."""
    short = json.dumps(value, allow_nan=False)
    fits = len(indent) + len(before) + len(short) <= _COLUMNS
    if fits or not value or not isinstance(value, (Mapping, Sequence)) or isinstance(value, str):
        yield short
        return
    inner = indent + "  "
    if isinstance(value, Mapping):
        left, right = "{}"
        members = [(f"{json.dumps(name)}: ", member) for name, member in value.items()]
    else:
        left, right = "[]"
        members = [("", member) for member in value]
    yield left
    for number, (name, member) in enumerate(members):
        yield f"{',' if number else ''}\n{inner}{name}"
        yield from _lines(member, inner, name)
    yield f"\n{indent}{right}"


def encode(value: Any) -> Any:
    """A verdict's dataclass, or a part of one, as JSON values."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    kind = type(value)
    return {
        name: _hexadecimal(getattr(value, name), HEXADECIMAL[kind, name])
        if (kind, name) in HEXADECIMAL
        else encode(getattr(value, name))
        for name in _fields(kind)
    }


def decode(kind: Any, value: Any) -> Any:
    """The value of that type which `encode` turned into `value`."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return tuple(decode(arguments[0], item) for item in value)
    if origin is types.UnionType:
        return None if value is None else decode(arguments[0], value)
    if origin is dict:
        return dict(value)
    if kind is int and isinstance(value, str):
        return int(value, 16)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return kind(
            **{
                name: decode(hint, value[name])
                for name, hint in _fields(kind).items()
                if name in value or (kind, name) not in ADDED
            }
        )
    if kind is float:
        return float(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} where {kind.__name__} is expected")
    return value


def _hexadecimal(value: Any, digits: int) -> Any:
    if isinstance(value, tuple):
        return [_hexadecimal(item, digits) for item in value]
    return None if value is None else f"{value:#0{digits + 2}x}"


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    """The fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
