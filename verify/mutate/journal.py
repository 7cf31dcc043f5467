"""The results of a campaign on disk: one line of JSON each, only ever appended.

The first line says what the campaign is; each following line is one judgement. A line that a kill
cut short is dropped when the campaign goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from verify.errors import InputError
from verify.mutate.model import Judgement, Mutant, Operator
from verify.verdict import Contract, Verdict

FORMAT = 1
"""Version of the format. It changes when a reader of the old one would misunderstand."""


@dataclass(frozen=True)
class Header:
    """What a campaign is: two campaigns with the same header judge the same mutants.

    `function_sha256` are the hashes of the bytes of the function, `harness` identifies the
    harness, `selection` the mutants in their order (`selection_id`), of `made` in all.
    """

    source: str
    architecture: str
    sha256: str
    function: str
    function_sha256: str
    harness: str
    seed: int
    selection: str
    selected: int
    made: int
    every: bool
    contract: str = Contract.CHACHA20.value


class Journal:
    """A campaign's file, open for appending."""

    def __init__(self, path: Path, header: Header, *, resume: bool) -> None:
        """Begin a file, or with `resume` go on with one.

        Raises InputError where the file exists and is not to be resumed, or is of another
        campaign.
        """
        self.judged: dict[str, Judgement] = {}
        if resume and path.exists():
            _drop_partial_line(path)
        if resume and path.exists() and path.stat().st_size:
            found, judgements = read(path)
            _require_same(path, found, header)
            self.judged = {judgement.mutant.id: judgement for judgement in judgements}
            self._file = path.open("a")
        else:
            if path.exists() and not resume:
                raise InputError(str(path), "it exists; --resume goes on with it")
            self._file = path.open("w")
            self._write({"format": FORMAT, **asdict(header)})

    def add(self, judgement: Judgement) -> None:
        """Append one judgement; it is on the disk when this returns."""
        self.judged[judgement.mutant.id] = judgement
        self._write(_to_json(judgement))

    def _write(self, content: dict[str, Any]) -> None:
        self._file.write(json.dumps(content) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()


def _drop_partial_line(path: Path) -> None:
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)


_OTHER = {
    "architecture": "on a function of another architecture",
    "sha256": "on another file",
    "function": "on another function",
    "contract": "with another --contract",
    "function_sha256": "on other bytes of the function",
    "harness": "by another version of vdso-verify",
    "seed": "with another --seed",
    "every": "with another choice of --all",
    "made": "which made other mutants",
    "selected": "with another --sample or --open-in",
    "selection": "with another --sample or --open-in",
}
"""What another campaign is, by the member of the header that differs."""


def _require_same(path: Path, found: Header, wanted: Header) -> None:
    for name, other in _OTHER.items():
        if getattr(found, name) != getattr(wanted, name):
            raise InputError(
                str(path),
                f"it is of a campaign {other}; repeat that one's options, or begin another file",
            )


def read(path: Path) -> tuple[Header, tuple[Judgement, ...]]:
    """A campaign's header and judgements; raises InputError."""
    lines = path.read_text().splitlines()
    try:
        first = json.loads(lines[0])
        if first.pop("format") != FORMAT:
            raise InputError(str(path), "its format is that of another version")
        return Header(**first), tuple(_judgements(lines[1:]))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(str(path), f"it is no journal of a campaign ({error})") from None


def _judgements(lines: list[str]) -> Iterator[Judgement]:
    for line in lines:
        content = json.loads(line)
        mutant = Mutant(
            Operator(content["operator"]),
            int(content["address"], 16),
            bytes.fromhex(content["bytes_before"]),
            bytes.fromhex(content["bytes_after"]),
        )
        yield Judgement(
            mutant,
            content["before"],
            content["after"],
            Verdict(content["verdict"]),
            content["seconds"],
            content["refuted_by"],
            content["reason"],
            content["equivalent"],
        )


def _to_json(judgement: Judgement) -> dict[str, Any]:
    mutant = judgement.mutant
    return {
        "operator": mutant.operator.value,
        "address": f"{mutant.address:#x}",
        "bytes_before": mutant.before.hex(),
        "bytes_after": mutant.after.hex(),
        "before": judgement.before,
        "after": judgement.after,
        "verdict": judgement.verdict.value,
        "refuted_by": judgement.refuted_by,
        "reason": judgement.reason,
        "equivalent": judgement.equivalent,
        "seconds": round(judgement.seconds, 3),
    }
