"""`replay` shows that a counterexample is real, on the bytes that it is about and on no others."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.programs import counterexample_of, result_of
from tests.proving import BINARIES
from verify.cli import run
from verify.counterexample import Counterexample, Look
from verify.resultjson import Outcome, dumps, to_json
from verify.verdict import Result

FAULTS = [
    ("powerpc64le/wrong-rotation", "output", Look.RETURN),
    ("powerpc64le/read-past-key", "footprint", Look.ACCESS),
    ("powerpc64le/stale-register-on-stack", "stack", Look.STACK_WRITE),
    ("powerpc64le/reserved-register-used", "abi", Look.REGISTER_WRITE),
    ("powerpc64le/carry-left", "secrecy", Look.REGISTER),
    ("powerpc64le/branch-on-key", "timing", Look.DEPENDENCE),
    ("loongarch64/wrong-rotation", "output", Look.RETURN),
]
FAULT = "powerpc64le/wrong-rotation"


def written(result: Result, path: Path) -> str:
    """The result in a file as `prove --json` writes it, with an absolute path of the binary."""
    source = str(BINARIES / Path(result.target.source).relative_to(BINARIES))
    moved = dataclasses.replace(result, target=dataclasses.replace(result.target, source=source))
    path.write_text(dumps(to_json(Outcome((moved,)))))
    return str(path)


def with_counterexample(result: Result, changes: dict[str, Any]) -> Result:
    """The result with other values in its counterexamples."""

    def changed(found: Counterexample | None) -> Counterexample | None:
        return None if found is None else dataclasses.replace(found, **changes)

    properties = tuple(
        dataclasses.replace(one, counterexample=changed(one.counterexample))
        for one in result.properties
    )
    return dataclasses.replace(result, properties=properties)


@pytest.mark.parametrize(("fault", "property_id", "look"), FAULTS)
def test_fault_is_seen_again(
    fault: str, property_id: str, look: Look, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = counterexample_of(fault, property_id)
    assert found.observation.look is look
    file = written(result_of(fault), tmp_path / "result.json")
    assert run(["replay", file, "--property", property_id]) == 1
    output, errors = capsys.readouterr()
    assert errors == ""
    assert f"{property_id}: {found.what}" in output
    assert f"now          {found.expected} expected, {found.actual} seen" in output
    assert "reproduced   just so, by qemu-" in output


@pytest.mark.parametrize(("fault", "property_id", "look"), FAULTS)
def test_good_bytes_do_not_show_it(
    fault: str, property_id: str, look: Look, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert look is counterexample_of(fault, property_id).observation.look
    result = result_of(fault)
    good = result_of_good(Path(fault).parent.name, result)
    assert run(["replay", written(good, tmp_path / "r.json"), "--property", property_id]) == 3
    assert "does not reproduce: a fault of the harness" in capsys.readouterr().out


def result_of_good(architecture: str, faulty: Result) -> Result:
    """A result that claims of a good program what is so of a faulty one."""
    from tests.proving import target_of

    target = target_of(f"{architecture}/looped.so")
    summary = dataclasses.replace(
        faulty.target,
        source=target.source,
        sha256=target.sha256,
        image_sha256=target.image_sha256,
        address=target.function.address,
        size=target.function.size,
    )
    return dataclasses.replace(faulty, target=summary, variants=())


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(result_of("powerpc64le/key-word-on-stack"), tmp_path / "result.json")
    directory = tmp_path / "new" / "shown"
    assert run(["replay", file, "-o", str(directory)]) == 1
    names = {path.name for path in directory.iterdir()}
    assert names == {"stack.c", "stack.gdb", "secrecy.c", "secrecy.gdb"}
    output = capsys.readouterr().out
    assert all(str(directory / name) in output for name in names)


def test_binary_that_has_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(FAULT)
    moved = tmp_path / "moved.so"
    shutil.copyfile(result.target.source, moved)
    summary = dataclasses.replace(result.target, source=str(tmp_path / "gone.so"))
    path = tmp_path / "r.json"
    path.write_text(dumps(to_json(Outcome((dataclasses.replace(result, target=summary),)))))
    assert run(["replay", str(path)]) == 2
    assert "gone.so: no such file" in capsys.readouterr().err
    assert run(["replay", str(path), "--binary", str(moved)]) == 1
    other = str(BINARIES / "powerpc64le" / "looped.so")
    assert run(["replay", str(path), "--binary", other]) == 2
    assert "not the file of the result (other SHA-256)" in capsys.readouterr().err


BAD = {
    "empty": b"",
    "no JSON": b"{",
    "another JSON": b"[1, 2]",
    "another format": b'{"format": 9}',
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", BAD)
def test_other_files_are_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(BAD[name])
    assert run(["replay", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vdso-verify: {path}: ")
    assert len(line) < 300


def test_nothing_to_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(to_json(Outcome())))
    assert run(["replay", str(path)]) == 2
    assert "it has no counterexample" in capsys.readouterr().err
    file = written(result_of(FAULT), path)
    assert run(["replay", file, "--property", "timing"]) == 2
    assert "it has no counterexample of timing" in capsys.readouterr().err
    assert run(["replay", file, "--property", "speed"]) == 2
    assert "no property 'speed'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [{"nblocks": 2**40}, {"in_place": True}, {"key": (0,) * 8, "seed": 0, "kind": "another"}],
    ids=["too many blocks", "one block in place", "another fault"],
)
def test_what_cannot_be_executed_is_no_traceback(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = with_counterexample(result_of(FAULT), changes)
    code = run(["replay", written(result, tmp_path / "r.json")])
    output, errors = capsys.readouterr()
    assert code in (2, 3)
    assert "internal error" not in errors
    assert "Traceback" not in output + errors
