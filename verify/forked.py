"""Do several things at once, each in a process that is forked from this one.

A forked process has all that this one has, so that a task may use any of it; what it returns comes
back pickled, and has to be plain data. Threads would be of no use: terms are made in Python.
"""

from __future__ import annotations

import gc
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

Tell = Callable[[Any], None]
"""Sends plain data to whoever waits for the task."""

_CONTEXT = get_context("fork")


class WorkerError(Exception):
    """A task raised something, which is in a note, or its process ended without a result."""


@dataclass(frozen=True)
class _Told:
    what: Any


@dataclass(frozen=True)
class _Returned:
    value: Any


@dataclass(frozen=True)
class _Failed:
    error: str
    trace: str


def forked[T](
    tasks: Sequence[Callable[[Tell], T]],
    jobs: int,
    heard: Callable[[int, Any], None] = lambda *_: None,
) -> Generator[T | WorkerError]:
    """What each task returns, or how it failed, in order; at most `jobs` run at once, the first
    ones first.

    `heard` is told the number of a task and what that tells. Whatever ends this, no process is
    left.
    """
    results: dict[int, Any] = {}
    running: dict[Connection, tuple[int, ForkProcess]] = {}
    pending = list(enumerate(tasks))[::-1]
    given = 0
    try:
        while given < len(tasks):
            while pending and len(running) < jobs:
                number, task = pending.pop()
                connection, process = _started(task)
                running[connection] = (number, process)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                number, process = running[ready]
                message = _received(ready)
                if isinstance(message, _Told):
                    heard(number, message.what)
                    continue
                process.join()
                del running[ready]
                results[number] = _value(message, process)
            while given in results:
                yield results.pop(given)
                given += 1
    finally:
        for connection, (_, process) in running.items():
            process.kill()
            process.join()
            connection.close()


@dataclass(frozen=True)
class Beside[T]:
    """A task that runs beside this process: `tell` sends it plain data, and `result` waits for what
    it returns, or how it failed."""

    tell: Callable[[Any], None]
    result: Callable[[], T | WorkerError]


@contextmanager
def beside[T](task: Callable[[Callable[[], Any]], T]) -> Iterator[Beside[T]]:
    """Begin a task at once, which is given what waits for data; its process ends with the
    context."""
    hears, says = _CONTEXT.Pipe(duplex=False)

    def run(_: Tell) -> T:
        says.close()
        return task(hears.recv)

    def tell(what: Any) -> None:
        # That the task has failed and does not hear is for its result to say.
        with suppress(OSError):
            says.send(what)

    def result() -> T | WorkerError:
        message = _received(connection)
        process.join()
        return cast("T | WorkerError", _value(message, process))

    connection, process = _started(run)
    hears.close()
    try:
        yield Beside(tell, result)
    finally:
        process.kill()
        process.join()
        connection.close()
        says.close()


def _started(task: Callable[[Tell], Any]) -> tuple[Connection, ForkProcess]:
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(task, ours, theirs), daemon=True)
    gc.freeze()
    with warnings.catch_warnings():
        # The thread of the live display holds nothing that a task needs.
        warnings.filterwarnings("ignore", "This process.* is multi-threaded", DeprecationWarning)
        process.start()
    gc.unfreeze()
    theirs.close()
    return ours, process


def _work(task: Callable[[Tell], Any], ours: Connection, theirs: Connection) -> None:
    ours.close()
    # Whoever forked this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        message: object = _Returned(task(lambda what: theirs.send(_Told(what))))
    except Exception as error:  # noqa: BLE001  # raised again where the result is waited for
        message = _Failed(f"{type(error).__name__}: {error}", traceback.format_exc())
    theirs.send(message)
    # What the modules have registered for the end is for the other process.
    os._exit(0)


def _received(connection: Connection) -> Any:
    """The next message, None where there will be none."""
    try:
        return connection.recv()
    except EOFError:
        return None


def _value(message: object, process: ForkProcess) -> Any:
    """What a process has returned; a WorkerError where it has failed."""
    match message:
        case _Returned(value):
            return value
        case _Failed(what, trace):
            error = WorkerError(what)
            error.add_note(trace)
            return error
    return WorkerError(f"a process that had a part of the work has ended with {process.exitcode}")
