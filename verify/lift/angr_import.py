"""Importing angr once, quickly and without its complaint about an absent unicorn."""

from __future__ import annotations

import gc
import logging
import sys

_LOGGER = "angr.state_plugins.unicorn_engine"
_MESSAGE = "failed loading"


def _is_wanted(record: logging.LogRecord) -> bool:
    """Unicorn is not used here, so that it cannot be loaded is no news."""
    return not record.getMessage().startswith(_MESSAGE)


def import_angr() -> None:
    """Import angr; to be called before anything that imports it itself.

    Its modules allocate so many lasting objects that the garbage collector takes a third of the
    import's time, in vain; afterwards they are exempt from collection.
    """
    if "angr" in sys.modules:
        return
    collecting = gc.isenabled()
    gc.disable()
    logger = logging.getLogger(_LOGGER)
    logger.addFilter(_is_wanted)
    try:
        import angr  # noqa: F401
    finally:
        logger.removeFilter(_is_wanted)
        if collecting:
            gc.enable()
    gc.freeze()
