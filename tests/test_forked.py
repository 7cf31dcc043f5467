"""Tasks in processes of their own: their results, what they tell, and how they fail."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from verify.forked import WorkerError, beside, forked

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.forked import Tell


def squared(number: int, tell: Tell) -> tuple[int, int]:
    tell(number)
    return number * number, os.getpid()


def tells(tell: Tell) -> int:
    tell("something")
    return 1


def fails(_: Tell) -> int:
    raise ValueError("one line")


def dies(_: Tell) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def waits(_: Tell) -> int:
    signal.pause()
    return 0


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_results_in_order(jobs: int) -> None:
    heard: list[tuple[int, int]] = []
    tasks = [partial(squared, number) for number in range(5)]
    found = list(forked(tasks, jobs, lambda number, what: heard.append((number, what))))
    results = [one for one in found if not isinstance(one, WorkerError)]
    assert [value for value, _ in results] == [0, 1, 4, 9, 16]
    assert sorted(heard) == [(number, number) for number in range(5)]
    processes = {process for _, process in results}
    assert len(processes) == len(tasks)
    assert os.getpid() not in processes


def test_no_tasks() -> None:
    assert list(forked([], 2)) == []


@pytest.mark.parametrize(("task", "what"), [(fails, "ValueError: one line"), (dies, "-9")])
def test_failures(task: Callable[[Tell], int], what: str) -> None:
    """Others go on."""
    failed, good = forked([task, tells], 2)
    assert isinstance(failed, WorkerError)
    assert what in str(failed)
    assert good == 1


def test_no_process_is_left() -> None:
    before = multiprocessing.active_children()
    with closing(forked([tells, waits], 2)) as results:
        next(results)
        assert len(multiprocessing.active_children()) == len(before) + 1
    assert multiprocessing.active_children() == before


def test_beside() -> None:
    """It runs until it is told something, and gives the result."""
    before = multiprocessing.active_children()
    with beside(lambda wait: (os.getpid(), wait() + 1)) as other:
        other.tell(2)
        result = other.result()
    assert not isinstance(result, WorkerError)
    process, number = result
    assert number == 3
    assert process != os.getpid()
    assert multiprocessing.active_children() == before


@pytest.mark.parametrize(("task", "what"), [(fails, "ValueError: one line"), (dies, "-9")])
def test_beside_fails(task: Callable[[Callable[[], object]], int], what: str) -> None:
    with beside(task) as other:
        other.tell("nobody hears")
        result = other.result()
    assert isinstance(result, WorkerError)
    assert what in str(result)


def test_beside_ends_with_the_context() -> None:
    before = multiprocessing.active_children()
    with beside(lambda wait: wait()):
        assert len(multiprocessing.active_children()) == len(before) + 1
    assert multiprocessing.active_children() == before
