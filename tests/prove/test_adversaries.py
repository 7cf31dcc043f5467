"""Programs that are made to fool the proof: what the real bytes break is refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prove.adversaries import ADVERSARIES, Adversary
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.verdict import Verdict
from verify.witness import search

import_angr()

from verify.run import prove  # noqa: E402


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.name)
def test_refuted(adversary: Adversary, tmp_path: Path) -> None:
    target = adversary.target(tmp_path)
    assert set(adversary.breaks) <= {breach.property for breach in search(target)}
    result = prove(target, Options(properties=adversary.breaks))
    assert {one.property: one.verdict for one in result.properties} == dict.fromkeys(
        adversary.breaks, Verdict.REFUTED
    )
