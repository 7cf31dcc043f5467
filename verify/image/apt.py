"""apt in a private root.

apt brings the mirror, the proxy, the keys and the checks of signatures and hashes from the
system's configuration; a private state and cache (apt.conf(5): Dir::State, Dir::Cache) let it
fetch foreign architectures and other suites without touching the system.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.errors import InputError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class UnreachableError(InputError):
    """A mirror that cannot be reached or does not have what it lists."""


@dataclass(frozen=True)
class Mirror:
    """A Debian archive: its URI, and the keyring that its signatures are checked with, or ""."""

    uri: str
    signed_by: str


@dataclass(frozen=True)
class Package:
    """A package in the lists of a suite: `file` is a bare name, `size` in bytes."""

    name: str
    version: str
    architecture: str
    file: str
    size: int
    sha256: str


def system_mirrors() -> tuple[Mirror, ...]:
    """Return the Debian mirrors in the system's apt configuration, in its order.

    Before the first `apt-get update` the origins of its sources are unknown; then all are
    returned, for Debian's keys decide in the end. Raises `InputError` when there is none.
    """
    sites = [t["Site"] for t in _targets() if t.get("Origin") == "Debian"] or [
        t["Site"] for t in _targets("--no-release-info")
    ]
    if not sites:
        raise InputError(
            "apt", "its configuration names no Debian mirror; add one to its sources and retry"
        )
    keyring = str(KEYRING) if KEYRING.exists() else ""
    return tuple(Mirror(site, keyring) for site in dict.fromkeys(sites))


def _targets(*options: str) -> list[dict[str, str]]:
    """Return the package lists of the system's sources that may be those of a full archive."""
    listing = run(["apt-get", "indextargets", *options, "Created-By: Packages", "Component: main"])
    return [
        target
        for target in stanzas(listing.stdout)
        if not target.get("Site", "cdrom:").startswith("cdrom:")
        and not target.get("Release", "").endswith(("-security", "/updates"))
    ]


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command without input and in the C locale; return what it printed."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    return os.environ | {"LC_ALL": "C.UTF-8"}


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """Yield the paragraphs of control data (deb822(5)), without continuation lines."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in paragraph.splitlines() if line[:1].strip())
        stanza = {name: value.strip() for name, colon, value in lines if colon}
        if stanza:
            yield stanza


class Apt:
    """apt over the private root `root`, for one suite and some architectures.

    `source` names the suite in errors.
    """

    def __init__(self, root: Path, architectures: Sequence[str], suite: str, source: str) -> None:
        """Make the directories and the configuration of the root."""
        self.architectures = architectures
        self.suite = suite
        self.source = source
        self.sources = root / "debian.sources"
        self.configuration = root / "apt.conf"
        self.downloads = root / "downloads"
        self.log = root / "log"
        for directory in ("lists/partial", "archives/partial", "downloads"):
            (root / directory).mkdir(parents=True)
        # apt downloads as a user of its own when it can reach its directories.
        root.chmod(0o755)
        (root / "status").touch()
        self._configure(root)

    def _configure(self, root: Path) -> None:
        settings = {
            "Dir::State": root,
            "Dir::State::lists": root / "lists",
            "Dir::State::status": root / "status",
            "Dir::Cache": root,
            "Dir::Cache::archives": root / "archives",
            "Dir::Etc::sourcelist": self.sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": self.architectures[0],
            "APT::Get::AllowUnauthenticated": "false",
            "APT::Update::Error-Mode": "any",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "Acquire::AllowWeakRepositories": "false",
            "Acquire::Retries": "2",
        }
        # The hooks of the system belong to the system's lists; `#clear` also empties lists that
        # an option on the command line would only extend.
        cleared = (
            "APT::Architectures",
            "APT::Update::Pre-Invoke",
            "APT::Update::Post-Invoke",
            "APT::Update::Post-Invoke-Success",
        )
        lines = [f"#clear {name};" for name in cleared]
        lines += [f'{name} "{value}";' for name, value in settings.items()]
        lines += [f'APT::Architectures:: "{name}";' for name in self.architectures]
        self.configuration.write_text("\n".join(lines) + "\n")

    def _command(self, tool: str) -> list[str]:
        return [tool, "-c", str(self.configuration), "-q"]

    def _run(self, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run([*self._command(tool), *arguments])

    def update(self, mirrors: Sequence[Mirror]) -> None:
        """Get the package lists from the first mirror that has them."""
        reason = "no mirror is configured"
        for mirror in mirrors:
            self.sources.write_text(
                f"Types: deb\nURIs: {mirror.uri}\nSuites: {self.suite}\nComponents: main\n"
                f"Architectures: {' '.join(self.architectures)}\nTargets: Packages\n"
                + (f"Signed-By: {mirror.signed_by}\n" if mirror.signed_by else "")
            )
            done = self._run("apt-get", "update")
            if done.returncode == 0:
                return
            reason = _complaint(done.stderr)
        raise UnreachableError(
            self.source, f"the package lists cannot be fetched ({reason}); check the mirror"
        )

    def names(self, prefix: str) -> list[str]:
        """Return the names of all packages that begin with `prefix`."""
        return sorted(self._run("apt-cache", "pkgnames", prefix).stdout.split())

    def packages(self, names: Sequence[str]) -> list[Package]:
        """Return the packages called "name:architecture", in every version listed."""
        shown = self._run("apt-cache", "show", *names).stdout if names else ""
        return [
            Package(
                name=record["Package"],
                version=record["Version"],
                architecture=record["Architecture"],
                file=record["Filename"].rpartition("/")[2],
                size=int(record["Size"]),
                sha256=record["SHA256"],
            )
            for record in stanzas(shown)
            if {"Architecture", "Filename", "SHA256", "Size", "Version"} <= record.keys()
        ]

    def download(self, package: Package, progress: Callable[[int], None]) -> bytes:
        """Return the file of a package, checked; `progress` is told the bytes done so far."""
        name = f"{package.name}:{package.architecture}={package.version}"
        reader, writer = os.pipe()
        with self.log.open("w") as output, os.fdopen(reader, errors="replace") as status:
            try:
                process = subprocess.Popen(
                    [*self._command("apt-get"), f"-oAPT::Status-Fd={writer}", "download", name],
                    cwd=self.downloads,
                    pass_fds=[writer],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=_environment(),
                )
            finally:
                os.close(writer)
            with process:
                for line in status:
                    if match := re.match(r"dlstatus:[^:]*:([0-9.]+):", line):
                        progress(min(package.size, int(package.size * float(match[1]) / 100)))
        files = list(self.downloads.glob("*.deb"))
        content = files[0].read_bytes() if files else b""
        for file in files:
            file.unlink()
        if process.returncode != 0:
            reason = _complaint(self.log.read_text(errors="replace"))
            raise UnreachableError(self.source, f"{package.name} cannot be fetched ({reason})")
        if hashlib.sha256(content).hexdigest() != package.sha256:
            raise InputError(
                self.source, f"{package.name} differs from its hash in the package list; retry"
            )
        return content


def _complaint(output: str) -> str:
    """Return the most telling line of apt's messages."""
    lines = output.splitlines()
    for mark in ("E: ", "W: ", ""):
        for line in lines:
            if line.startswith(mark) and line.strip():
                return line.removeprefix(mark).strip().rstrip(".")
    return "apt gave no reason"
