"""Settings for all tests."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

from tests import emulators, proving
from verify.qemu import emulator

# The machine may be busy with other things: time is no sign of a fault.
settings.register_profile("default", deadline=None)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of binaries that no emulator here is new enough to run."""
    for item in items:
        call = getattr(item, "callspec", None)
        for value in call.params.values() if call else ():
            if reason := emulators.too_old(value):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def without_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    """No emulator is found."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(emulator, "BESIDE_PYTHON", "/nowhere")


def pytest_unconfigure() -> None:
    """Let go of lifted code before the interpreter ends, which pypcode complains of otherwise."""
    proving.segments_of_program.cache_clear()
    gc.collect()
