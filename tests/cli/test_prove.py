"""`prove` from files to exit code: what it prints, writes and returns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.documents import document_of
from verify.cli import run
from verify.options import PROPERTIES
from verify.resultjson import from_json
from verify.verdict import Verdict

GOOD = {
    f"binaries/{architecture}/{style}{suffix}.so": architecture
    for architecture in ("loongarch64", "powerpc64le")
    for style in ("looped", "unrolled")
    for suffix in ("", ".stripped")
}
LOONGARCH, POWERPC = "binaries/loongarch64/looped.so", "binaries/powerpc64le/looped.so"
FAULTY = "binaries/faults/loongarch64/missing-feed-forward.so"

pytestmark = pytest.mark.usefixtures("in_checkout")


def test_every_good_binary_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    assert run(["prove", "--json", str(file), *GOOD]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output.splitlines()[-1] == f"{len(GOOD)} functions: {len(GOOD)} PROVED"
    document = document_of(file)
    outcome = from_json(document)
    assert outcome.failures == ()
    for result, (name, architecture) in zip(outcome.results, GOOD.items(), strict=True):
        assert (result.target.source, result.target.architecture) == (name, architecture)
        assert tuple(found.property for found in result.properties) == PROPERTIES
        assert result.verdict is Verdict.PROVED
        assert result.discipline
        assert result.tools and result.caveats
        assert all(found.checks for found in result.properties)
        assert f"file sha256 {result.target.sha256}; " in output


def test_report_on_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", LOONGARCH]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{LOONGARCH}  __arch_chacha20_blocks_nostack  loongarch64"
    assert [line.split()[:2] for line in lines[2 : 3 + len(PROPERTIES)]] == [
        ["property", "verdict"],
        *([name, "PROVED"] for name in PROPERTIES),
    ]
    saves = [line for line in lines if "of the caller" in line and "frame  clean" in line]
    assert len(saves) == 10  # fp, s0 to s8
    assert all(len(line) <= 80 for line in lines if not line.startswith("file "))


def test_report_on_a_refutation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    assert run(["prove", "--property", "output", "--json", str(file), FAULTY]) == 1
    output, errors = capsys.readouterr()
    assert errors == ""
    (result,) = from_json(document_of(file)).results
    (found,) = result.properties
    assert found.verdict is Verdict.REFUTED
    counterexample = found.counterexample
    assert counterexample is not None
    assert counterexample.expected != counterexample.actual
    assert counterexample.deviation is not None
    assert counterexample.executed_by
    for part in (
        "output REFUTED: ",
        f"counter      {counterexample.counter:#018x}",
        f"expected     {counterexample.expected}",
        f"deviates at  {counterexample.deviation:#x}  {counterexample.deviation_text}",
    ):
        assert part in output


def test_only_the_properties_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--property", "abi", "--property", "counter", POWERPC]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["counter", "abi"]
    assert lines[5] == ""
    assert not any(line.startswith("stack:") for line in lines)


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "-q", "--property", "counter", POWERPC, FAULTY]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{name}: __arch_chacha20_blocks_nostack: PROVED" for name in (POWERPC, FAULTY)
    ]


def test_worst_of_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["prove", "-q", "--property", "output"]
    assert run([*arguments, "none", LOONGARCH]) == 2
    assert capsys.readouterr().out.endswith("PROVED\n")
    assert run([*arguments, "none", FAULTY]) == 1
    output, errors = capsys.readouterr()
    assert output.endswith("REFUTED\n")
    assert errors == "vdso-verify: none: no such file\n"


def test_json_to_standard_output_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--json", "-", "--property", "counter", LOONGARCH]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert json.loads(output)["results"][0]["verdict"] == "PROVED"


def test_a_function_named_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    stripped = "binaries/powerpc64le/looped.stripped.so"
    assert run(["prove", "--function", "0x360", "--property", "counter", stripped]) == 0
    assert "(named by hand: 0x360" in capsys.readouterr().out


def test_another_function_is_not_proved() -> None:
    assert run(["prove", "--function", "__vdso_getrandom", LOONGARCH]) in (1, 3)


def test_too_little_budget_or_time_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--budget", "1", "--property", "output", LOONGARCH]) == 3
    assert "UNKNOWN" in capsys.readouterr().out


def test_jobs_do_not_change_what_is_said(tmp_path: Path) -> None:
    said = []
    for jobs in ("1", "3"):
        file = tmp_path / jobs
        assert run(["prove", "--jobs", jobs, "--json", str(file), POWERPC]) == 0
        (result,) = from_json(document_of(file)).results
        said.append(
            [(p.property, [(c.id, c.verdict) for c in p.checks]) for p in result.properties]
        )
    assert said[0] == said[1]
