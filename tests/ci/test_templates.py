"""The files that CI systems read: against their published schemas, and executed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.ci.kernel import ROOT, environment, linker_in, object_in

ACTION = ROOT / "action.yml"
GITLAB = ROOT / "ci/gitlab.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
SOURCE = "arch/x86/entry/vdso/vgetrandom-chacha.S"


def loaded(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def validate(name: str, document: Any) -> None:
    """Against a schema that check-jsonschema brings."""
    vendored = files("check_jsonschema") / "builtin_schemas/vendor" / f"{name}.json"
    Draft7Validator(json.loads(vendored.read_text())).validate(document)


def git(place: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what a clone of the project has for CI."""
    place = tmp_path_factory.mktemp("vdso-verify")
    for name in ("scripts", "verify", "specs", "pyproject.toml", HOOKS.name):
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(source, place / name, ignore=ignored)
        else:
            shutil.copy(source, place)
    git(place, "init", "--quiet")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message", "all")
    return place


def test_action() -> None:
    """Every input reaches the script as the variable that it reads, and every output is written."""
    action = loaded(ACTION)
    validate("github-actions", action)
    (step,) = action["runs"]["steps"]
    given = {name: value for name, value in step["env"].items() if name != "PYTHON"}
    script = (ROOT / "scripts/ci-prove").read_text()
    read = set(re.findall(r"VDSO_VERIFY_\w+", script)) - {"VDSO_VERIFY_PYTHON"}
    assert given.keys() == read
    wanted = {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    assert set(step["env"].values()) == wanted
    for name, one in action["outputs"].items():
        assert one["value"] == f"${{{{ steps.{step['id']}.outputs.{name} }}}}"
        assert f'"{name}"' in (ROOT / "scripts/ci_outputs.py").read_text()


def test_the_step_of_the_action(tmp_path: Path) -> None:
    """As a runner executes it, with the defaults of the inputs but for two."""
    object_in(tmp_path, "loongarch64")
    action = loaded(ACTION)
    (step,) = action["runs"]["steps"]
    assert step["shell"] == "sh"
    given = {name: one.get("default", "") for name, one in action["inputs"].items()}
    given |= {"files": "arch/*/vdso/vgetrandom-chacha.o", "properties": "abi counter"}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: given[m[1]], value)
        for name, value in step["env"].items()
    }
    (tmp_path / "step").write_text(step["run"])
    done = subprocess.run(
        ["/bin/sh", "-e", "step"],
        cwd=tmp_path,
        env=environment(**variables, GITHUB_ACTION_PATH=str(ROOT), GITHUB_OUTPUT="output"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "verdict=PROVED\n" in (tmp_path / "output").read_text()
    assert {path.suffix for path in (tmp_path / "vdso-verify-reports").iterdir()} == {
        *(".json", ".xml", ".sarif", ".md"),
    }


def test_the_job_for_gitlab(tmp_path: Path, clone: Path) -> None:
    template = loaded(GITLAB)
    job = template[".vdso-verify"]
    validate("gitlab-ci", {"prove": {**job, "stage": "test"}})
    object_in(tmp_path, "loongarch64")
    variables = {
        **job["variables"],
        "VDSO_VERIFY_SOURCE": str(clone),
        "VDSO_VERIFY_REVISION": git(clone, "rev-parse", "HEAD").strip(),
        "VDSO_VERIFY_FILES": "arch/*/vdso/vgetrandom-chacha.o",
        "VDSO_VERIFY_PROPERTIES": "abi",
        "VDSO_VERIFY_FORMATS": "junit",
        "PIP_CACHE_DIR": "",
    }
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", "\n".join(job["script"])],
        cwd=tmp_path,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    kept = [path for path in job["cache"]["paths"] if (tmp_path / path).is_dir()]
    assert kept == [variables["VDSO_VERIFY_CACHE"]]
    report = job["artifacts"]["reports"]["junit"]
    assert (tmp_path / report.replace("$VDSO_VERIFY_REPORTS", "vdso-verify-reports")).is_file()


@pytest.fixture
def tree(tmp_path: Path, clone: Path) -> Path:
    """A kernel tree that runs the hook, with a source but no object."""
    place = tmp_path / "linux"
    (place / SOURCE).parent.mkdir(parents=True)
    (place / SOURCE).write_text("first\n")
    (place / ".gitignore").write_text("*.o\n")
    git(place, "init", "--quiet")
    configuration = {
        "repos": [
            {
                "repo": str(clone),
                "rev": git(clone, "rev-parse", "HEAD").strip(),
                "hooks": [{"id": "vgetrandom-chacha", "args": ["--linker", linker_in(tmp_path)]}],
            }
        ]
    }
    (place / ".pre-commit-config.yaml").write_text(yaml.safe_dump(configuration))
    git(place, "add", ".")
    return place


def hook(tree: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color", "never"],
        cwd=tree,
        env=environment(PRE_COMMIT_HOME=str(tree.parent / "home"), VDSO_VERIFY_PROPERTIES="output"),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_hook(tree: Path) -> None:
    """An object that is missing, older than its source, right, and wrong."""
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)], check=True
    )
    code, shown = hook(tree)
    assert code == 1
    assert f"{SOURCE} has no object {SOURCE[:-2]}.o; build it with make" in shown

    path = tree / object_in(tree, "x86_64")
    later = (tree / SOURCE).stat().st_mtime + 60

    os.utime(tree / SOURCE, (later, later))
    code, shown = hook(tree)
    assert code == 1
    assert f"{SOURCE[:-2]}.o is older than {SOURCE}; build it anew with make" in shown

    os.utime(path, (later + 1, later + 1))
    code, shown = hook(tree)
    assert (code, shown.count("Passed")) == (0, 1)

    path.write_bytes(path.read_bytes().replace(b"expand 32-byte k", b"expand 33-byte k"))
    os.utime(path, (later + 1, later + 1))
    code, shown = hook(tree)
    assert code == 1
    assert "output REFUTED: dst holds ChaCha20's key stream" in shown

    git(tree, "commit", "--quiet", "--no-verify", "--message", "all")
    (tree / "other.S").touch()
    git(tree, "add", "other.S")
    assert "(no files to check)Skipped" in hook(tree)[1]


def test_the_hook_finds_objects_elsewhere(tmp_path: Path) -> None:
    """Below KBUILD_OUTPUT, and both objects that PowerPC makes of one source."""
    (tmp_path / "arch/powerpc/kernel/vdso").mkdir(parents=True)
    source = "arch/powerpc/kernel/vdso/vgetrandom-chacha.S"
    (tmp_path / source).touch()
    build = tmp_path / "build/arch/powerpc/kernel/vdso"
    build.mkdir(parents=True)
    for number in (32, 64):
        (build / f"vgetrandom-chacha-{number}.o").write_bytes(b"no object")
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts/pre-commit-prove"), source],
        cwd=tmp_path,
        env=environment(KBUILD_OUTPUT="build"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    for number in (32, 64):
        assert f"vgetrandom-chacha-{number}.o: neither ELF nor a known kernel" in done.stderr
