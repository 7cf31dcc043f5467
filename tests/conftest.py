"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The machine may be busy with other things: time is no sign of a fault.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
