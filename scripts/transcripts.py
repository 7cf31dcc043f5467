"""Runs the commands that the pages show, and writes what they print into the pages.

A section `<!-- transcript -->` is an indented block of commands, each behind `$ `, with what they
print. Those of one page are one session, in a directory with a link to `binaries`: what a command
writes, a later one reads. Those in `<!-- transcript by hand -->` take long or need a network, and
end with a line that says when they were run; `--by-hand PAGE...` runs those of the pages named, in
the same session.

A text is kept where only times and versions of QEMU are others.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scripts.pages import ROOT, has_section, pages, with_sections
from verify.cli import PROGRAM, run

TRANSCRIPT = "transcript"
BY_HAND = "transcript by hand"
_INDENT = " " * 4
_PROMPT, _CONTINUED = "$ ", "> "
_SHELL = frozenset("<>;&$`*?~\\'\"#()")
_USUAL = (0, 1)
"""Exit codes that need not be shown."""


@dataclass(frozen=True)
class Step:
    """A command, which may have several lines, and what it prints on both streams."""

    command: str
    shown: str


@dataclass
class Session:
    """Runs commands one after the other in a directory; `code` is the exit code of the last."""

    directory: Path
    code: int = 0

    def run(self, command: str) -> Step:
        """Run a command; raises RuntimeError where its end is not expected.

        The program runs in this process, so that angr is imported once; all else in a shell.
        """
        first, *rest = command.split(" | ", 1)
        if first.startswith(f"{PROGRAM} ") and not _SHELL & set(first):
            stream = io.StringIO()
            with redirect_stdout(stream), redirect_stderr(stream):
                self.code = run(shlex.split(first)[1:])
            printed = stream.getvalue()
            if rest:
                printed = self._shell(rest[0], printed)
        else:
            printed = self._shell(command, "")
        for name in (str(self.directory), str(ROOT), str(Path.home())):
            if name in printed:
                raise RuntimeError(f"{command}: it prints a path of this machine")
        return Step(command, printed)

    def _shell(self, command: str, given: str) -> str:
        """What a command prints that gets this input; `$?` in it is the exit code of the last."""
        done = subprocess.run(
            ["/bin/sh", "-c", f"(exit {self.code})\n{command}"],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.code = done.returncode
        return done.stdout


@contextmanager
def session() -> Iterator[Session]:
    """A session in a new directory, in which the program and Python are the present ones."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        place, programs = scratch / "vdso-verify", scratch / "bin"
        place.mkdir()
        programs.mkdir()
        (place / "binaries").symlink_to(ROOT / "binaries")
        program = programs / PROGRAM
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m verify "$@"\n')
        program.chmod(0o755)
        path = [str(programs), str(Path(sys.executable).parent), before.get("PATH", os.defpath)]
        os.environ.update(PATH=os.pathsep.join(path), PYTHONPATH=str(ROOT), COLUMNS="80")
        os.environ.update(ZIG_LOCAL_CACHE_DIR=name, ZIG_GLOBAL_CACHE_DIR=name)
        os.environ.pop("FORCE_COLOR", None)
        try:
            with chdir(place):
                yield Session(place)
        finally:
            os.environ.clear()
            os.environ.update(before)


def steps_in(body: str) -> list[Step]:
    """The commands in a section and what they are shown to print; raises ValueError."""
    steps: list[Step] = []
    for line in body.strip("\n").splitlines():
        text = line.removeprefix(_INDENT)
        if line and text == line:
            raise ValueError(f"not indented by {len(_INDENT)}: {line}")
        if text.startswith(_PROMPT):
            steps.append(Step(text.removeprefix(_PROMPT), ""))
        elif not steps:
            raise ValueError(f"no command in front of: {line}")
        elif text.startswith(_CONTINUED) and steps[-1].command.endswith("\\"):
            command = f"{steps[-1].command}\n{text.removeprefix(_CONTINUED)}"
            steps[-1] = Step(command, "")
        else:
            steps[-1] = Step(steps[-1].command, f"{steps[-1].shown}{text}\n")
    return steps


def normalised(text: str) -> list[str]:
    """The lines without what differs from one run or machine to the next."""
    text = re.sub(r"(?m) +(\d+\.\d\d s\b|time$)", " TIME", text)
    text = re.sub(r"qemu-(\w+) version [^;\n]*", r"qemu-\1 VERSION", text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def rerun(steps: Sequence[Step], place: Session) -> list[Step]:
    """The steps with what they print now, or as before where that is the same but for what differs
    from one run to the next; raises RuntimeError where an exit code is not expected."""
    found = []
    for number, step in enumerate(steps):
        now = place.run(step.command)
        following = steps[number + 1].command if number + 1 < len(steps) else ""
        if place.code not in _USUAL and following != "echo $?":
            raise RuntimeError(f"{step.command}: exit code {place.code}: {now.shown}")
        found.append(step if normalised(step.shown) == normalised(now.shown) else now)
    return found


def block(steps: Sequence[Step]) -> str:
    """The steps as an indented block of Markdown."""
    lines: list[str] = []
    for step in steps:
        lines.append(_PROMPT + step.command.replace("\n", f"\n{_CONTINUED}"))
        lines.append(step.shown.strip("\n"))
    text = "\n".join(line for line in lines if line)
    return "\n".join(f"{_INDENT}{line}".rstrip() for line in text.splitlines())


_DATED = re.compile(r"\nRun on \d{4}-\d\d-\d\d\.\Z")


def renewed(content: str, *, by_hand: bool = False) -> str:
    """The page with what its commands print now, those that are run by hand only if asked for."""
    today = f"Run on {datetime.now(UTC):%Y-%m-%d}."

    def renew(name: str, body: str) -> str:
        text = block(rerun(steps_in(_DATED.sub("", body)), place))
        return text if name == TRANSCRIPT else f"{text}\n\n{today}"

    with session() as place:
        return with_sections(content, [TRANSCRIPT, *([BY_HAND] if by_hand else [])], renew)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by-hand", action="store_true", help="also what takes long or a network")
    parser.add_argument("page", nargs="*", type=Path, help="default: all pages")
    arguments = parser.parse_args()
    if arguments.by_hand and not arguments.page:
        parser.error("--by-hand needs pages")
    for page in arguments.page or pages():
        content = page.read_text()
        if arguments.by_hand or has_section(content, TRANSCRIPT):
            page.write_text(renewed(content, by_hand=arguments.by_hand))


if __name__ == "__main__":
    main()
