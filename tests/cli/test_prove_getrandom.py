"""`prove --contract getrandom` from files to exit code: what it prints, writes and returns."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.documents import document_of
from verify.cli import run
from verify.getrandom.claims import TITLES, Claim
from verify.options import PROPERTIES_OF
from verify.resultjson import from_json
from verify.verdict import Caveat, Contract, Verdict

STUBS = ("binaries/loongarch64/looped.so", "binaries/loongarch64/unrolled.so")
"""Their getrandom does nothing but call ChaCha20, which is not what it should."""
WHOLE = "binaries/loongarch64/getrandom.so"
PROVE = ("prove", "--contract", "getrandom")

pytestmark = pytest.mark.usefixtures("in_checkout")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_refuted(jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    asked = ["--property", "stream", "--property", "abi", "--jobs", jobs, "--json", str(file)]
    assert run([*PROVE, *asked, "none", *STUBS]) == 1
    output, errors = capsys.readouterr()
    assert errors == "vdso-verify: none: no such file\n"
    assert output.splitlines()[-1] == "2 functions: 2 REFUTED; 1 errors"
    outcome = from_json(document_of(file))
    assert [result.target.source for result in outcome.results] == list(STUBS)
    for result in outcome.results:
        assert result.contract is Contract.GETRANDOM
        assert result.target.function == "__vdso_getrandom"
        assert [one.property for one in result.properties] == ["stream", "abi"]
        stream, _ = result.properties
        assert stream.verdict is Verdict.REFUTED
        assert stream.reason
        history = stream.history
        assert history is not None
        assert history.account[0].startswith("call 0: getrandom(")
        assert history.account[0] in output
        assert history.executed_by.startswith("qemu-loongarch64 ")
        environment = result.environment
        assert environment is not None
        assert (environment.page_bytes, environment.data_page) == (0x4000, 0x8000)
        called = environment.chacha20
        assert called.function == "__arch_chacha20_blocks_nostack"
        assert called.function_sha256 in output
    assert run(["replay", str(file), "--property", "stream"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{STUBS[0]}: stream: {outcome.results[0].properties[0].reason}"
    again = [line for line in lines if line.startswith("  reproduced just so, by qemu-")]
    assert len(again) == len(STUBS)
    for refused, instead in (
        (["replay", str(file), "-o", str(tmp_path / "out")], "leave out --output"),
        (["explain", str(file), "--html", str(tmp_path / "page")], "replay executes them again"),
    ):
        assert run(refused) == 2
        assert instead in capsys.readouterr().err


def test_pages_and_data_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    where = ["--page-size", "65536", "--data-page", "131072"]
    assert run([*PROVE, *where, "-q", "--json", str(file), STUBS[0]]) == 1
    (result,) = from_json(document_of(file)).results
    assert result.environment is not None
    assert (result.environment.page_bytes, result.environment.data_page) == (65536, 131072)


@pytest.mark.every_fault
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_proved(jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    assert run([*PROVE, "--jobs", jobs, "--json", str(file), WHOLE]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    (result,) = from_json(document_of(file)).results
    assert tuple(one.property for one in result.properties) == PROPERTIES_OF[Contract.GETRANDOM]
    for one in result.properties:
        assert (one.verdict, one.reason) == (Verdict.PROVED, "")
        assert one.title == TITLES[Claim(one.property)]
        assert one.checks
        assert {check.verdict for check in one.checks} == {Verdict.PROVED}
    assert Caveat.CHACHA20_BY_CONTRACT in result.caveats
    assert result.target.sha256 == hashlib.sha256(Path(WHOLE).read_bytes()).hexdigest()
    assert [line.split()[:2] for line in output.splitlines()[3 : 3 + len(Claim)]] == [
        [claim.value, "PROVED"] for claim in Claim
    ]
