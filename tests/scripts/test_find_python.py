"""The set-up finds an interpreter that works, by running it, or says what it tried."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIND_PYTHON = Path(__file__).parents[2] / "scripts" / "find-python"
TOO_OLD = "#!/bin/sh\necho 'is Python 3.11' >&2\nexit 1\n"
BROKEN_SHIM = "#!/bin/sh\necho 'shim: version not installed' >&2\nexit 127\n"
WORKING = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an empty folder to be searched for interpreters, with the tools the script calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("cat", "head"):
        (folder / tool).symlink_to(Path("/bin") / tool)
    return folder


def executable(file: Path, script: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script)
    file.chmod(0o755)
    return file


def find(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    home = path.parent / "home"
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYENV", "CONDA", "UV_", "MISE", "ASDF", "XDG", "PYTHON"))
    }
    return subprocess.run(
        ["/bin/sh", FIND_PYTHON],
        env=clean | {"PATH": str(path), "HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unusable", [TOO_OLD, BROKEN_SHIM])
def test_passes_over_what_does_not_work(path: Path, unusable: str) -> None:
    executable(path / "python3", TOO_OLD)
    executable(path / "python3.13", unusable)
    executable(path / "python3.12", WORKING)
    assert Path(find(path).stdout.strip()).samefile(sys.executable)


def test_finds_a_pyenv_version_that_is_not_on_path(path: Path) -> None:
    executable(path / "python3", TOO_OLD)
    root = path.parent / "pyenv"
    executable(root / "versions" / "3.9.1" / "bin" / "python3", TOO_OLD)
    executable(root / "versions" / "3.12.1" / "bin" / "python3", WORKING)
    assert Path(find(path, PYENV_ROOT=str(root)).stdout.strip()).samefile(sys.executable)


def test_finds_what_a_runner_of_github_has(path: Path) -> None:
    cache = path.parent / "cache"
    executable(cache / "Python/3.11.9/x64/bin/python3", BROKEN_SHIM)
    executable(cache / "Python/3.13.1/x64/bin/python3", WORKING)
    found = find(path, RUNNER_TOOL_CACHE=str(cache), PYENV_ROOT=str(path.parent / "pyenv"))
    assert Path(found.stdout.strip()).samefile(sys.executable)


def test_named_interpreter_is_the_only_one_tried(path: Path) -> None:
    executable(path / "python3", WORKING)
    old = executable(path / "old", TOO_OLD)
    result = find(path, PYTHON=str(old))
    assert result.returncode == 1
    assert result.stdout == ""
    assert f"{old}: is Python 3.11" in result.stderr


def test_named_interpreter_that_does_not_exist(path: Path) -> None:
    result = find(path, PYTHON="/nonexistent/python")
    assert result.returncode == 1
    assert "/nonexistent/python" in result.stderr


def test_says_what_it_tried_and_how_to_get_one(path: Path) -> None:
    executable(path / "python3", TOO_OLD)
    executable(path / "python3.12", BROKEN_SHIM)
    result = find(path)
    if result.returncode == 0:
        pytest.skip("this machine has a suitable Python in a place that is always searched")
    assert "python3: is Python 3.11" in result.stderr
    assert "python3.12: shim: version not installed" in result.stderr
    assert "apt-get install" in result.stderr
