"""A campaign: many mutants judged by the workers of a Dask cluster, each answer kept as it comes.

A mutant is given to a worker only when that worker has nothing else to do, so that a worker that
dies, by its memory limit or otherwise, makes one mutant UNKNOWN and no other.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dask
from distributed import Client, LocalCluster, Worker, WorkerPlugin, as_completed
from distributed.scheduler import KilledWorker

from verify.mutate.judge import judge_with_equivalence
from verify.mutate.model import Judgement, Mutant
from verify.options import Options
from verify.target import Target
from verify.verdict import Verdict

if TYPE_CHECKING:
    from distributed import Future

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.daemon": False,
    "distributed.admin.log-format": "%(message)s",
    "distributed.logging.distributed": "critical",
}


@dataclass(frozen=True)
class Resources:
    """Who judges: the address of a scheduler, or so many local workers with so much memory each.

    `memory` is what a local worker may use, in bytes.
    """

    scheduler: str | None = None
    workers: int = 2
    memory: int = 3 << 30


class _QuietExit(WorkerPlugin):
    """Let a worker's process end without the interpreter's tear-down, at which pypcode calls its
    own objects leaked."""

    name = "quiet exit"

    def setup(self, worker: Worker) -> None:  # noqa: ARG002  # the interface's
        """Called in each worker when it starts."""
        atexit.register(os._exit, 0)


@contextmanager
def _client(resources: Resources) -> Iterator[Client]:
    with dask.config.set(_SETTINGS):
        if resources.scheduler is not None:
            with Client(resources.scheduler) as client:
                yield client
            return
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with (
            LocalCluster(
                n_workers=resources.workers,
                threads_per_worker=1,
                memory_limit=resources.memory,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(_QuietExit())
            yield client


def run(
    base: Target,
    mutants: Iterable[Mutant],
    options: Options,
    resources: Resources,
    done: Callable[[Judgement], None],
    *,
    every: bool = False,
) -> None:
    """Judge the mutants of a target, and call `done` for each as soon as it is judged."""
    waiting = iter(mutants)
    with _client(resources) as client:
        shared = client.scatter(base, broadcast=True, hash=False)
        given: dict[Any, Mutant] = {}

        def give() -> Future[Judgement] | None:
            mutant = next(waiting, None)
            if mutant is None:
                return None
            future = client.submit(
                judge_with_equivalence, shared, mutant, options, every=every, pure=False
            )
            given[future.key] = mutant
            return future

        first = (give() for _ in range(max(1, len(client.nthreads()))))
        answers = as_completed([future for future in first if future is not None])
        for future in answers:
            mutant = given.pop(future.key)
            done(_answer(future, mutant))
            following = give()
            if following is not None:
                answers.add(following)


def _answer(future: Future[Judgement], mutant: Mutant) -> Judgement:
    try:
        judgement: Judgement = future.result()
    except KilledWorker:
        reason = "its worker died: out of memory, or killed"
        return Judgement(mutant, "", "", Verdict.UNKNOWN, 0.0, reason=reason)
    except Exception as error:  # noqa: BLE001  # a mutant must not end the campaign
        reason = f"fault of the harness: {type(error).__name__}: {error}"
        return Judgement(mutant, "", "", Verdict.UNKNOWN, 0.0, reason=reason)
    return judgement
