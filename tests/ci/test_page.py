"""docs/ci.md shows what is printed (`python -m scripts.ci_samples` renews it), and its examples are
what the systems read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.kernel import CI_PROVE, ROOT, samples
from tests.ci.test_templates import ACTION, GITLAB, HOOKS, loaded, validate

PAGE = (ROOT / "docs/ci.md").read_text()


def section(name: str) -> str:
    (found,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", PAGE, re.DOTALL)
    return str(found).strip("\n")


def example(name: str) -> Any:
    return yaml.safe_load(section(name).removeprefix("```yaml\n").removesuffix("```"))


def normalised(text: str) -> str:
    """Without what another version of the harness, or of the page's source, changes."""
    return re.sub(r"certificate [0-9a-f]{12}", "certificate KEY", text)


def test_what_is_printed(tmp_path: Path) -> None:
    for name, text in samples(tmp_path).items():
        assert normalised(section(name)) == normalised(text)


def test_workflow() -> None:
    """Against the published schema; the step names inputs and outputs that there are."""
    workflow = example("workflow")
    # YAML 1.1 takes the key `on` for a truth value.
    validate("github-workflows", {"on": workflow.pop(True), **workflow})
    (step,) = (one for one in workflow["jobs"]["chacha20"]["steps"] if one.get("id") == "prove")
    action = loaded(ACTION)
    assert step["with"].keys() <= action["inputs"].keys()
    used = set(re.findall(r"steps\.prove\.outputs\.([\w-]+)", section("workflow")))
    assert used and used <= action["outputs"].keys()


def test_gitlab() -> None:
    job = example("gitlab")
    (included,) = job["include"]
    assert (ROOT / included["file"]) == GITLAB
    template = loaded(GITLAB)
    assert job["chacha20"]["extends"] in template
    build = {"script": ["make"], "artifacts": {"paths": ["arch"]}}
    validate("gitlab-ci", {**template, **job, "build": build})


def test_pre_commit(tmp_path: Path) -> None:
    file = tmp_path / "configuration.yaml"
    configuration = example("pre-commit")
    file.write_text(yaml.safe_dump(configuration))
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", str(file)], check=True)
    (hook,) = configuration["repos"][0]["hooks"]
    assert [one["id"] for one in loaded(HOOKS)] == [hook["id"]]


def test_every_variable_is_listed() -> None:
    lines = re.findall(r"(?m)^\| (`\w+` \|.*) \|$", PAGE)
    rows = [[cell.strip(" `") for cell in line.split("|")] for line in lines]
    script = set(re.findall(r"VDSO_VERIFY_\w+", CI_PROVE.read_text()))
    assert {variable for variable, *_ in rows} == script | {"PYTHON"}
    action = loaded(ACTION)
    (step,) = action["runs"]["steps"]
    given = {variable: f"${{{{ inputs.{name} }}}}" for variable, name, *_ in rows if name}
    assert given == step["env"]
    for _, name, default, _ in rows:
        if name:
            stated = "" if default == "all" else default
            assert action["inputs"][name].get("default", "") == stated


@pytest.mark.parametrize("name", re.findall(r"\]\(([\w.]+)\)", PAGE))
def test_links(name: str) -> None:
    assert (ROOT / "docs" / name).is_file()
