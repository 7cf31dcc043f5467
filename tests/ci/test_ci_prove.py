"""scripts/ci-prove from end to end: files, reports, outputs and the exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.ci_outputs import exit_code, outputs
from tests.ci.kernel import CI_PROVE, ci_prove, linker_in, object_in
from tests.proving import BINARIES
from tests.report.samples import PROVED as GOOD
from tests.report.samples import REFUTED as BAD
from verify.resultjson import Failed, Failure, Outcome
from verify.verdict import Verdict

FAULT = str(BINARIES / "faults/loongarch64/register-not-restored.so")
ONE = {"VDSO_VERIFY_PROPERTIES": "abi"}


def output_of(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def test_objects_of_a_kernel(tmp_path: Path) -> None:
    """Linked, named and found by a pattern, proved, and kept."""
    object_in(tmp_path, "loongarch64")
    object_in(tmp_path, "powerpc64le", "vgetrandom chacha.o")
    object_in(tmp_path, "x86_64")
    variables = {
        "VDSO_VERIFY_FILES": "arch/*/vdso/*.o\n\narch/powerpc/kernel/vdso/vgetrandom chacha.o\n"
        "arch/x86/entry/vdso/vgetrandom-chacha.o\n",
        "VDSO_VERIFY_LINKER": linker_in(tmp_path),
        "VDSO_VERIFY_PROPERTIES": "counter abi",
        "VDSO_VERIFY_FORMATS": "junit ktap",
        "VDSO_VERIFY_REPORTS": "reports",
        "VDSO_VERIFY_CACHE": "cache",
        "GITHUB_OUTPUT": "output",
        "GITHUB_STEP_SUMMARY": "summary",
    }
    done = ci_prove(tmp_path, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n3 functions: 3 PROVED\n")
    assert "\x1b" not in done.stdout
    assert len(list((tmp_path / "cache").iterdir())) == 3
    reports = tmp_path / "reports"
    names = {path.name for path in reports.iterdir()}
    assert names == {"result.json", "junit.xml", "report.ktap", "linked"}
    assert ElementTree.parse(reports / "junit.xml").getroot().get("failures") == "0"
    found = output_of(tmp_path / "output")
    assert (found["verdict"], found["exit-code"], found["reports"]) == ("PROVED", "0", "reports")
    assert [one["file"] for one in json.loads(found["verdicts"])] == [
        "reports/linked/arch-loongarch-vdso-vgetrandom-chacha.so",
        "reports/linked/arch-powerpc-kernel-vdso-vgetrandom chacha.so",
        "reports/linked/arch-x86-entry-vdso-vgetrandom-chacha.so",
    ]
    verdicts = json.loads(found["verdicts"])[0]["properties"]
    assert verdicts == {"counter": "PROVED", "abi": "PROVED"}
    assert (tmp_path / "summary").read_text().count("# __arch_chacha20") == 3


def test_refuted(tmp_path: Path) -> None:
    variables = {"VDSO_VERIFY_FORMATS": "junit", "GITHUB_OUTPUT": "output"}
    done = ci_prove(tmp_path, FAULT, **ONE, **variables, VDSO_VERIFY_FAIL_ON="refuted")
    assert (done.returncode, done.stderr) == (1, "")
    assert output_of(tmp_path / "output")["verdict"] == "REFUTED"
    suite = ElementTree.parse(tmp_path / "vdso-verify-reports/junit.xml").getroot()
    assert suite.get("failures") == "1"


def test_unknown(tmp_path: Path) -> None:
    """x86-64's object is to be linked first."""
    name = object_in(tmp_path, "x86_64")
    variables = {"VDSO_VERIFY_FORMATS": "junit", "GITHUB_OUTPUT": "output"}
    done = ci_prove(tmp_path, name, **ONE, **variables, VDSO_VERIFY_FAIL_ON="refuted")
    assert (done.returncode, done.stderr) == (0, "")
    assert "link it first" in done.stdout
    found = output_of(tmp_path / "output")
    assert (found["verdict"], found["exit-code"]) == ("UNKNOWN", "0")


@pytest.mark.parametrize(
    ("files", "variables", "reason"),
    [
        (["no/such.o"], {}, "vdso-verify: no/such.o: no such file\n"),
        ([], {}, "name a FILE, or give --running; see vdso-verify prove --help\n"),
        (["x"], {"VDSO_VERIFY_FORMATS": "junit x"}, "ci-prove: there is no report format 'x'\n"),
        (["x"], {"VDSO_VERIFY_FAIL_ON": "x"}, "'x', not unknown or refuted\n"),
        (["x.o"], {"VDSO_VERIFY_LINKER": "false"}, "x.o cannot be linked by 'false -shared'\n"),
    ],
)
def test_bad_input(
    files: list[str], variables: dict[str, str], reason: str, tmp_path: Path
) -> None:
    done = ci_prove(tmp_path, *files, **variables)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_codes() -> None:
    """UNKNOWN may pass, what could not be used or a failure of the harness may not."""
    internal = Failure(Failed.INTERNAL, "x", "why")
    unusable = Failure(Failed.INPUT, "x", "why")
    undecided = replace(GOOD, properties=(replace(GOOD.properties[0], verdict=Verdict.UNKNOWN),))
    for verdict, result in (("UNKNOWN", undecided), ("PROVED", GOOD), ("REFUTED", BAD)):
        outcome = Outcome((result,))
        code = {"UNKNOWN": 3, "PROVED": 0, "REFUTED": 1}[verdict]
        assert outputs(outcome, "", "unknown")["verdict"] == verdict
        assert exit_code(outcome, "unknown") == code
        assert exit_code(outcome, "refuted") == code % 3
    for failures, code in (((internal,), 3), ((unusable,), 2)):
        for results in ((), (GOOD,)):
            outcome = Outcome(results, failures)
            assert exit_code(outcome, "refuted") == exit_code(outcome, "unknown") == code
            assert outputs(outcome, "", "unknown")["verdict"] == "ERROR"
    assert exit_code(Outcome(), "refuted") == 3
    assert outputs(Outcome(), "", "unknown")["verdict"] == "ERROR"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_are_plain_sh() -> None:
    scripts = [CI_PROVE, CI_PROVE.with_name("pre-commit-prove")]
    subprocess.run(["shellcheck", *map(str, scripts)], check=True)
