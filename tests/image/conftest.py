"""Tests that need the network say so at the end when it could not be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

NOT_CHECKED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "network: downloads from a Debian mirror")
    config.stash[NOT_CHECKED] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.get_closest_marker("network") and isinstance(report.longrepr, tuple):
        item.config.stash[NOT_CHECKED].append(f"{item.name}: {report.longrepr[2]}")
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash[NOT_CHECKED]:
        terminalreporter.write_line(f"NOT CHECKED {line}", yellow=True)
