"""Programs that are made to fool the proof: what they break is not proved."""

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
def test_not_proved(adversary: Adversary, tmp_path: Path) -> None:
    target = adversary.target(tmp_path)
    seen = {breach.property for breach in search(target)}
    assert (set(adversary.breaks) <= seen) == adversary.shown
    result = prove(target, Options(properties=adversary.breaks))
    verdicts = {one.property: one.verdict for one in result.properties}
    assert set(verdicts) == set(adversary.breaks)
    wrong = {Verdict.REFUTED} if adversary.shown else {Verdict.REFUTED, Verdict.UNKNOWN}
    assert set(verdicts.values()) <= wrong, result.properties
