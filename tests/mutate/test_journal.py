"""A journal keeps every judgement through a kill at any moment, and takes no other campaign's."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from verify.errors import InputError
from verify.mutate.journal import _OTHER, Header, Journal, read
from verify.mutate.model import Judgement, Mutant, Operator
from verify.verdict import Verdict

HEADER = Header("f.so", "loongarch64", "0", "f", "1", "2", 0, "3", 3, 9, False)
DELETE = Mutant(Operator.DELETE, 16, b"ab", b"cd")
SWAP = Mutant(Operator.SWAP, 18, b"ab", b"ba")
WIDTH = Mutant(Operator.WIDTH, 20, b"ab", b"ac")
JUDGEMENTS = [
    Judgement(DELETE, "x", "y", Verdict.REFUTED, 0.5, "output", "w"),
    Judgement(SWAP, "x", "y", Verdict.PROVED, 0.5, equivalent="e"),
    Judgement(WIDTH, "x", "ü", Verdict.UNKNOWN, 0.25, reason="r"),
]


def written(path: Path) -> bytes:
    with Journal(path, HEADER, resume=False) as journal:
        for judgement in JUDGEMENTS:
            journal.add(judgement)
    return path.read_bytes()


def test_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path)
    assert read(path) == (HEADER, tuple(JUDGEMENTS))


def test_goes_on_after_a_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole) + 1):
        path.write_bytes(whole[:end])
        kept = whole[:end].count(b"\n") - 1
        with Journal(path, HEADER, resume=True) as journal:
            assert list(journal.judged.values()) == JUDGEMENTS[:kept]
            for judgement in JUDGEMENTS[kept:]:
                journal.add(judgement)
        assert path.read_bytes() == whole


def test_begins_anew_where_not_even_the_header_was_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    for beginning in (b"", whole[:7]):
        path.write_bytes(beginning)
        with Journal(path, HEADER, resume=True) as journal:
            assert not journal.judged
            for judgement in JUDGEMENTS:
                journal.add(judgement)
        assert path.read_bytes() == whole


def test_does_not_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path)
    with pytest.raises(InputError, match="--resume goes on with it"):
        Journal(path, HEADER, resume=False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"harness": "x"}, "by another version"),
        ({"seed": 1}, "with another --seed"),
        ({"selection": "x"}, "with another --sample"),
        ({"every": True}, "with another choice of --all"),
    ],
)
def test_does_not_go_on_with_another_campaign(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    path = tmp_path / "journal"
    written(path)
    other = replace(HEADER, **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"of a campaign {told}"):
        Journal(path, other, resume=True)


def test_every_member_tells_campaigns_apart() -> None:
    assert _OTHER.keys() == {field.name for field in fields(Header)} - {"source"}


@pytest.mark.parametrize(
    "text", ["", "{}\n", "nonsense\n", '{"format": 1, "x": 2}\n', '{"format": 99}\n']
)
def test_refuses_what_is_no_journal(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal"
    path.write_text(text)
    with pytest.raises(InputError):
        read(path)
