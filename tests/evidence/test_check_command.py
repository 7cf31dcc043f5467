"""`prove --certificate` and `check` from files to exit code, and what the index's schema says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import verify
from tests.evidence.forge import certificate_of
from tests.proving import BINARIES
from verify.cli import run
from verify.evidence import check
from verify.evidence.check_command import judged
from verify.evidence.check_model import Obligation
from verify.evidence.check_proof import Proof, refute
from verify.evidence.check_solvers import SOLVERS, answers
from verify.evidence.check_terms import number, same, variable

SCHEMA = Path(verify.__file__).parent / "schema/certificate.schema.json"
PROGRAM = str(BINARIES / "loongarch64/looped.so")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates") / "one"
    arguments = ["prove", "-q", "--property", "counter", "--property", "abi", PROGRAM]
    assert run([*arguments, "--certificate", str(directory)]) == 0
    return directory


def test_accepted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(place), "--reproduce", PROGRAM, "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{place}: accepted\n")
    assert "proved: counter, abi\n" in shown
    assert all(name in shown for name in SOLVERS)


def test_index_matches_the_schema(place: Path) -> None:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    for text in (
        (place / check.INDEX).read_text(),
        certificate_of("x86_64/unrolled.so")[check.INDEX],
    ):
        Draft202012Validator(schema).validate(json.loads(text))


def test_refused(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (path for path in place.rglob("*") if path.is_file()):
        copied = tmp_path / path.relative_to(place)
        copied.parent.mkdir(exist_ok=True)
        copied.write_bytes(path.read_bytes() if path.name != check.CODE else b"other")
    assert run(["check", str(tmp_path)]) == 1
    assert "refused: the files are not those" in capsys.readouterr().out


def test_other_code(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(BINARIES / "loongarch64/unrolled.so")
    assert run(["check", str(place), "--reproduce", other]) == 1
    assert "holds no image with SHA-256" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "reason"), [("nowhere", "no directory"), ("empty", "holds no certificate")]
)
def test_bad_input(
    name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["check", str(tmp_path / name)]) == 2
    assert reason in capsys.readouterr().err


def test_nothing_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = str(BINARIES / "faults/loongarch64/counter-not-written.so")
    arguments = ["prove", "-q", "--no-replay", "--property", "counter", fault]
    assert run([*arguments, "--certificate", str(tmp_path / "c")]) == 2
    assert "no certificate, since no property is PROVED" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


X = variable("x", 8)
HOLDS = Obligation("holds", "x = x", (), (), same(X, X))
FAILS = Obligation("fails", "x = 0", (), (), same(X, number(0, 8)))
VACUOUS = Obligation(
    "vacuous", "x = 0 and x = 1", (), (same(X, number(0, 8)), same(X, number(1, 8))), answer="sat"
)


@pytest.mark.parametrize("obligation", [HOLDS, FAILS, VACUOUS], ids=lambda one: one.id)
def test_solvers_agree(obligation: Obligation) -> None:
    (decision,) = check.decide([obligation], 1)
    assert len(set(decision.said.values())) == 1
    assert decision.agreed == (obligation is HOLDS)
    assert judged([decision])[0] == (0 if obligation is HOLDS else 1)


def lie(text: str) -> Mapping[str, str]:
    return {**answers(text), "cvc5": "sat"}


def give_up(text: str) -> Mapping[str, str]:
    return {**answers(text), "bitwuzla": "unknown"}


def test_disagreement_is_reported_as_such() -> None:
    code, what = judged(check.decide([HOLDS], 1, lie))
    assert code == 3
    assert what.startswith("solvers disagree: holds (")


def test_solver_that_gives_up() -> None:
    code, what = judged(check.decide([HOLDS], 1, give_up))
    assert code == 3
    assert what.startswith("not decided: holds (")


def test_proofs_of_unsatisfiability() -> None:
    pytest.importorskip("dratify")
    pytest.importorskip("pysat")
    assert refute(FAILS.question) is Proof.FAILED
    _, found = check.examine(certificate_of("loongarch64/looped.so", ("abi", "counter")))
    wanted = ("counter/low", "induction/base", "abi/s0")
    proofs = {one.id: refute(one.question) for one in found if one.id.startswith(wanted)}
    assert set(proofs.values()) == {Proof.CHECKED, Proof.REWRITTEN}
