"""Settings for all tests."""

from __future__ import annotations

import gc

from hypothesis import settings

from tests import proving

# The machine may be busy with other things: time is no sign of a fault.
settings.register_profile("default", deadline=None)
settings.load_profile("default")


def pytest_unconfigure() -> None:
    """Let go of lifted code before the interpreter ends, which pypcode complains of otherwise."""
    proving.segments_of_program.cache_clear()
    gc.collect()
