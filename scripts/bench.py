"""Measures the prover and writes the table into README.md.

Times are ratios to T, the time of `import angr` alone, measured in turn with everything else, so
that a busy machine disturbs both. The exit code is 1 when a median is above its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.pages import replace_section
from tests.cli.test_bad_input import FILES, USAGE

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "verify"]
BINARIES = [
    f"binaries/{architecture}/{style}.so"
    for architecture in ("loongarch64", "powerpc64le")
    for style in ("looped", "unrolled")
]
OTHERS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "binaries").glob("*/looped.so"))
    if path.relative_to(ROOT).as_posix() not in BINARIES
]
MUTATED = [name for name in BINARIES if "looped" in name]
MUTANTS = 40
NAIVE = {
    "right": "binaries/loongarch64/looped.so",
    "wrong rotation": "binaries/faults/loongarch64/wrong-rotation.so",
}
NAIVE_SECONDS = 200
FIVE = ("output", "counter", "footprint", "stack", "abi")
"""The properties of the function's result; those of what it leaves behind come on top."""
ONE_LIMIT, FOUR_LIMIT, ALL_LIMIT, ANSWER_LIMIT, MEMORY_LIMIT = 1.6, 2.2, 1.25, 0.5, 400
OTHER_LIMIT, MUTANT_LIMIT = 2.0, 0.35


@dataclass
class Series:
    """A row of the table: measured values, their unit, and the limit of their median."""

    name: str
    unit: str
    limit: float | None = None
    values: list[float] = field(default_factory=list)

    @property
    def exceeded(self) -> bool:
        """Whether the median is above the limit."""
        return self.limit is not None and statistics.median(self.values) > self.limit

    def cells(self) -> list[str]:
        """Name, limit, median, minimum and maximum."""
        digits = 0 if self.unit == "MB" else 2
        limit = "" if self.limit is None else f"{self.limit:g} {self.unit}".rstrip()
        numbers = (statistics.median(self.values), min(self.values), max(self.values))
        return [self.name, limit, *(f"{number:.{digits}f} {self.unit}" for number in numbers)]


def measure(command: Sequence[str], codes: Sequence[int], cwd: Path = ROOT) -> tuple[float, float]:
    """Run a command without a terminal: seconds of wall time, and peak memory in 10^6 bytes.

    Raises RuntimeError for an exit code that is not among `codes`.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    begin = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes there, KiB on Linux
    return seconds, usage.ru_maxrss * unit / 1e6


def bench(runs: int) -> list[Series]:
    """Everything but the naive query, each `runs` times in turn."""
    base = Series("T: `python -c 'import angr'`", "s")
    ones = [Series(f"`prove {name}`", "T", ONE_LIMIT) for name in BINARIES]
    others = [Series(f"`prove {name}`", "T", OTHER_LIMIT) for name in OTHERS]
    mutants = [
        Series(f"a mutant of {name} (the median of {MUTANTS})", "T", MUTANT_LIMIT)
        for name in MUTATED
    ]
    four = Series("`prove` on the first four in one process", "T", FOUR_LIMIT * ALL_LIMIT)
    result = Series(f"the same with {', '.join(FIVE)} alone", "T", FOUR_LIMIT)
    memory = Series("peak memory of these four", "MB", MEMORY_LIMIT)
    extra = Series(f"`prove {BINARIES[0]}` against the same with those five alone", "", ALL_LIMIT)
    five = [option for name in FIVE for option in ("--property", name)]
    answers = [
        (Series(f"`{' '.join(arguments)}`", "s", ANSWER_LIMIT), [arguments])
        for arguments in (["--help"], ["inspect", "--help"])
    ]
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        for name, (data, _) in FILES.items():
            (scratch / name).write_bytes(data)
        (scratch / "good.so").write_bytes((ROOT / BINARIES[0]).read_bytes())
        wrong = [["prove", name] for name in (*FILES, "missing", ".")]
        wrong += [arguments for arguments, _ in USAGE.values()]
        slowest = Series(f"the slowest of {len(wrong)} errors of input or usage", "s", ANSWER_LIMIT)
        answers.append((slowest, wrong))
        for _ in range(runs):
            angr, _ = measure([sys.executable, "-c", "import angr"], [0])
            base.values.append(angr)
            for name, series in zip((*BINARIES, *OTHERS), (*ones, *others), strict=True):
                seconds, _ = measure([*COMMAND, "prove", name], [0])
                series.values.append(seconds / angr)
            for name, series in zip(MUTATED, mutants, strict=True):
                series.values.append(mutant(name) / angr)
            every, _ = measure([*COMMAND, "prove", BINARIES[0]], [0])
            some, _ = measure([*COMMAND, "prove", *five, BINARIES[0]], [0])
            extra.values.append(every / some)
            seconds, peak = measure([*COMMAND, "prove", *BINARIES], [0])
            four.values.append(seconds / angr)
            seconds, _ = measure([*COMMAND, "prove", *five, *BINARIES], [0])
            result.values.append(seconds / angr)
            memory.values.append(peak)
            for series, lines in answers:
                taken = [measure([*COMMAND, *line], [0, 2], scratch)[0] for line in lines]
                series.values.append(max(taken))
    measured = [base, *ones, *others, four, result, memory, extra, *mutants]
    return [*measured, *(series for series, _ in answers)]


def mutant(file: str) -> float:
    """The median time in seconds of a mutant in a process that has judged one already."""
    command = [sys.executable, "-m", "scripts.mutants", file, str(MUTANTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    seconds: float = json.loads(done.stdout)["seconds"]
    return seconds


def naive(file: str) -> str:
    """What the whole-block query answers on a binary, and after how long."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.naive", file, str(NAIVE_SECONDS)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    return f"`{found['answer']}` after {found['seconds']:.1f} s"


def report(rows: Sequence[Series], naives: dict[str, str], runs: int) -> str:
    """The Markdown of all measurements."""
    lines = [
        f"Median, minimum and maximum of {runs} runs on {os.cpu_count()} cores of {processor()},"
        f" Python {platform.python_version()}. T is the time of `import angr` in the same run.",
        "",
        "| what | limit | median | minimum | maximum |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {' | '.join(series.cells())} |" for series in rows),
    ]
    if naives:
        answers = "; ".join(f"{NAIVE[name]} {answer}" for name, answer in naives.items())
        lines += [
            "",
            "For comparison, one query that asks whether any word of one whole block differs from"
            f" the specification, which says nothing of other blocks, counters or memory: {answers}"
            f" (limit {NAIVE_SECONDS} s).",
        ]
    return "\n".join(lines)


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> int:
    """Measure, write, and tell what exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="print, and leave README.md alone")
    parser.add_argument("--no-naive", action="store_true", help="leave out the naive query")
    arguments = parser.parse_args()
    rows = bench(arguments.runs)
    naives = {} if arguments.no_naive else {name: naive(file) for name, file in NAIVE.items()}
    text = report(rows, naives, arguments.runs)
    if not arguments.print:
        replace_section("bench", text)
    sys.stdout.write(text + "\n")
    exceeded = [series.name for series in rows if series.exceeded]
    for name in exceeded:
        sys.stderr.write(f"above its limit: {name}\n")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
