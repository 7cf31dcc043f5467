"""Calls the ChaCha20 function of a binary of the project under QEMU."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.witness.programs import built
from verify.witness import Inputs, execute, other_key
from verify.witness.execution import load_offset

if TYPE_CHECKING:
    import pytest

    from verify.target import Target

ROOT = Path(__file__).resolve().parents[2]


@cache
def target(path: str) -> Target:
    """The function of a binary, whose path is relative to the top of the repository."""
    return built(ROOT / path)


def executed_path(
    binary: Target, inputs: Inputs, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """The addresses of the function's translation blocks that QEMU executes for a call."""
    log = scratch / "qemu.log"
    function = binary.function
    start = function.address + load_offset(binary)
    monkeypatch.setenv("QEMU_DFILTER", f"{start:#x}+{function.size:#x}")
    monkeypatch.setenv("QEMU_LOG", "exec,nochain")
    monkeypatch.setenv("QEMU_LOG_FILENAME", str(log))
    execute(binary, [inputs])
    traced = [line for line in log.read_text().splitlines() if line.startswith("Trace")]
    assert traced, "QEMU logged nothing"
    return [int(line.split("[")[1].split("/")[1], 16) for line in traced]


def leaves_secrets_in_registers(binary: Target, calls: list[Inputs]) -> bool:
    """Whether the registers at the return depend on the key in one of the calls."""
    done = execute(binary, [*calls, *(other_key(call) for call in calls)])
    pairs = zip(done[: len(calls)], done[len(calls) :], strict=True)
    return any(one.end.registers != two.end.registers for one, two in pairs)


def random_calls(seed: str, count: int, *, in_place: bool = False) -> list[Inputs]:
    """Calls with random keys, 1 to 8 blocks, and counters around the wraps of both words."""
    values = random.Random(seed)
    calls = []
    for n in range(count):
        wrap = values.choice((0, 2**32, 2**64, values.getrandbits(64)))
        calls.append(
            Inputs(
                key=tuple(values.getrandbits(32) for _ in range(8)),
                counter=(wrap - values.randrange(9)) % 2**64,
                nblocks=2 if in_place else n % 8 + 1,
                in_place=in_place,
                seed=n,
            )
        )
    return calls
