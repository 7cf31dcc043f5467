"""Current kernel packages of Debian, downloaded by apt in a root of its own.

apt brings the mirror, the proxy, the keys and the checks of signatures and hashes from the
system's configuration; a private state and cache (apt.conf(5): Dir::State, Dir::Cache) let it
fetch foreign architectures and other suites without touching the system.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from verify.image.errors import InputError
from verify.image.files import replace_file

# The standard kernel flavour of each Debian architecture.
FLAVOURS: Mapping[str, str] = {
    "amd64": "amd64",
    "arm64": "arm64",
    "armhf": "armmp",
    "loong64": "loong64",
    "powerpc": "powerpc",
    "ppc64": "powerpc64",
    "ppc64el": "powerpc64le",
    "riscv64": "riscv64",
    "s390x": "s390x",
}
DEFAULT_SUITE = "unstable"
MANIFEST = "packages.json"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# linux-binary-* is the kernel image alone; in older suites linux-image-* holds it with its modules.
PACKAGE = re.compile(r"linux-(?P<kind>binary|image)-(?P<version>[0-9][0-9A-Za-z.+~]*(-[0-9]+)?)-")
SUITE = re.compile(r"[a-z][a-z0-9.-]*")

# The description of what is being done, the bytes done, and the bytes in all or None.
Progress = Callable[[str, int, int | None], None]


class UnreachableError(InputError):
    """A mirror that cannot be reached, or that does not have what was asked for."""


@dataclass(frozen=True)
class Mirror:
    """A Debian archive: its URI, and the keyring that its signatures are checked with, or ""."""

    uri: str
    signed_by: str


@dataclass(frozen=True)
class Fetched:
    """A downloaded package: `file` is its name in the directory, `size` is in bytes."""

    architecture: str
    suite: str
    package: str
    version: str
    file: str
    size: int
    sha256: str


def fetch(
    architectures: Sequence[str],
    suite: str,
    directory: Path,
    progress: Progress = lambda _description, _done, _total: None,
    mirrors: Sequence[Mirror] | None = None,
) -> list[Fetched]:
    """Download the newest kernel image package of each Debian architecture into `directory`.

    The mirrors are those of the system's apt configuration unless given. A complete file that is
    already there is kept; what was got is recorded in `MANIFEST` there. Raises `InputError` for
    unknown architectures or suites and without apt, `UnreachableError` when no mirror delivers.
    """
    source = f"Debian {suite}"
    unknown = [name for name in architectures if name not in FLAVOURS]
    if unknown or not architectures:
        known = ", ".join(sorted(FLAVOURS))
        raise InputError(" ".join(unknown) or source, f"not an architecture known here: {known}")
    if not SUITE.fullmatch(suite):
        raise InputError(suite, "not the name of a Debian suite, such as unstable or trixie")
    for tool in ("apt-get", "apt-cache", "dpkg"):
        if shutil.which(tool) is None:
            raise InputError(tool, "not found; fetch needs apt, as Debian and Ubuntu have it")
    _make_directory(directory)
    wanted = list(dict.fromkeys(architectures))
    with tempfile.TemporaryDirectory(prefix="vdso-verify-") as temporary:
        apt = _Apt(Path(temporary), wanted, suite, source)
        progress(f"package lists of {source}", 0, None)
        apt.update(system_mirrors() if mirrors is None else mirrors)
        fetched = [apt.download(record, directory, progress) for record in apt.newest_kernels()]
    _record(directory, fetched)
    return fetched


def system_mirrors() -> tuple[Mirror, ...]:
    """Return the Debian mirrors in the system's apt configuration, in its order.

    Raises `InputError` when there is none.
    """
    listing = _run(["apt-get", "indextargets", "Created-By: Packages", "Component: main"])
    targets = [
        target
        for target in _stanzas(listing.stdout)
        # The origin is unknown until the first `apt-get update`.
        if target.get("Origin", "Debian") == "Debian"
        and "Site" in target
        and not target["Site"].startswith("cdrom:")
        and not target.get("Release", "").endswith(("-security", "-security/updates"))
    ]
    # Known origins first: False sorts before True.
    targets.sort(key=lambda target: "Origin" not in target)
    default = str(KEYRING) if KEYRING.exists() else ""
    mirrors = dict.fromkeys(Mirror(t["Site"], t.get("Signed-By", default)) for t in targets)
    if not mirrors:
        raise InputError(
            "apt", "its configuration names no Debian mirror; add one to its sources and retry"
        )
    return tuple(mirrors)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    """Yield the paragraphs of control data (deb822(5)), without continuation lines."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in paragraph.splitlines() if line[:1].strip())
        stanza = {name: value.strip() for name, colon, value in lines if colon}
        if stanza:
            yield stanza


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(directory), f"cannot be made ({error.strerror})") from None


class _Apt:
    """apt over the private root `root`, for one suite and some architectures."""

    def __init__(self, root: Path, architectures: Sequence[str], suite: str, source: str) -> None:
        self.root = root
        self.architectures = architectures
        self.suite = suite
        self.source = source
        self.sources = root / "debian.sources"
        self.configuration = root / "apt.conf"
        self.downloads = root / "downloads"
        for directory in ("lists/partial", "archives/partial", "downloads"):
            (root / directory).mkdir(parents=True)
        # apt downloads as a user of its own when it can reach its directories.
        root.chmod(0o755)
        (root / "status").touch()
        self._configure()

    def _configure(self) -> None:
        settings = {
            "Dir::State": self.root,
            "Dir::State::lists": self.root / "lists",
            "Dir::State::status": self.root / "status",
            "Dir::Cache": self.root,
            "Dir::Cache::archives": self.root / "archives",
            "Dir::Etc::sourcelist": self.sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": self.architectures[0],
            "APT::Update::Error-Mode": "any",
            "APT::Get::AllowUnauthenticated": "false",
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

    def _apt(self, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _run([*self._command(tool), *arguments])

    def _command(self, tool: str) -> list[str]:
        return [tool, "-c", str(self.configuration), "-q"]

    def update(self, mirrors: Sequence[Mirror]) -> None:
        """Get the package lists from the first mirror that has them."""
        reason = "no mirror is configured"
        for mirror in mirrors:
            self.sources.write_text(
                f"Types: deb\nURIs: {mirror.uri}\nSuites: {self.suite}\nComponents: main\n"
                f"Architectures: {' '.join(self.architectures)}\nTargets: Packages\n"
                + (f"Signed-By: {mirror.signed_by}\n" if mirror.signed_by else "")
            )
            done = self._apt("apt-get", "update")
            if done.returncode == 0:
                return
            reason = _complaint(done.stderr)
        raise UnreachableError(
            self.source, f"the package lists cannot be fetched: {reason}; check the mirror"
        )

    def newest_kernels(self) -> list[Mapping[str, str]]:
        """Return the newest record of a kernel image package for each architecture.

        Only the standard flavour counts, not those for clouds, real time or debugging.
        """
        names = self._apt("apt-cache", "pkgnames", "linux-").stdout.split()
        matching = [
            f"{name}:{architecture}"
            for architecture in self.architectures
            for name in sorted(names)
            if (match := PACKAGE.match(name)) and name[match.end() :] == FLAVOURS[architecture]
        ]
        shown = self._apt("apt-cache", "show", *matching).stdout if matching else ""
        records = [
            record
            for record in _stanzas(shown)
            if {"Package", "Version", "SHA256", "Size", "Filename"} <= record.keys()
        ]
        return [self._newest(records, architecture) for architecture in self.architectures]

    def _newest(self, records: Sequence[Mapping[str, str]], architecture: str) -> Mapping[str, str]:
        candidates = [r for r in records if r.get("Architecture") == architecture]
        if not candidates:
            raise UnreachableError(
                self.source, f"has no kernel image package for {architecture}; try another suite"
            )
        return max(candidates, key=functools.cmp_to_key(_older))

    def download(self, record: Mapping[str, str], directory: Path, progress: Progress) -> Fetched:
        """Get one package into `directory`, unless it is there."""
        fetched = Fetched(
            architecture=record["Architecture"],
            suite=self.suite,
            package=record["Package"],
            version=record["Version"],
            file=record["Filename"].rpartition("/")[2],
            size=int(record["Size"]),
            sha256=record["SHA256"],
        )
        target = directory / fetched.file
        if not (target.is_file() and _sha256(target) == fetched.sha256):
            replace_file(target, self._downloaded(fetched, progress))
        progress(fetched.package, fetched.size, fetched.size)
        return fetched

    def _downloaded(self, fetched: Fetched, progress: Progress) -> bytes:
        name = f"{fetched.package}:{fetched.architecture}={fetched.version}"
        log = self.root / "log"
        reader, writer = os.pipe()
        with log.open("w") as output, os.fdopen(reader, errors="replace") as status:
            try:
                process = subprocess.Popen(
                    [
                        *self._command("apt-get"),
                        "-oAPT::Status-Fd=" + str(writer),
                        "download",
                        name,
                    ],
                    cwd=self.downloads,
                    pass_fds=[writer],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=os.environ | {"LC_ALL": "C.UTF-8"},
                )
            finally:
                os.close(writer)
            with process:
                for line in status:
                    if match := re.match(r"dlstatus:[^:]*:([0-9.]+):", line):
                        done = int(fetched.size * float(match[1]) / 100)
                        progress(fetched.package, min(done, fetched.size), fetched.size)
        packages = list(self.downloads.glob("*.deb"))
        content = packages[0].read_bytes() if packages else b""
        for package in packages:
            package.unlink()
        if process.returncode != 0:
            reason = _complaint(log.read_text(errors="replace"))
            raise UnreachableError(self.source, f"{fetched.package} cannot be fetched: {reason}")
        if hashlib.sha256(content).hexdigest() != fetched.sha256:
            raise UnreachableError(
                self.source, f"{fetched.package} differs from its hash in the package list; retry"
            )
        return content


def _older(first: Mapping[str, str], second: Mapping[str, str]) -> int:
    """Compare two package records: by version, then linux-binary before linux-image."""
    for relation, result in (("lt", -1), ("gt", 1)):
        command = ["dpkg", "--compare-versions", first["Version"], relation, second["Version"]]
        if _run(command).returncode == 0:
            return result
    kinds = ("-image-" in second["Package"], "-image-" in first["Package"])
    return int(kinds[0]) - int(kinds[1])


def _complaint(output: str) -> str:
    """Return the most telling line of apt's messages."""
    lines = output.splitlines()
    for mark in ("E: ", "W: ", ""):
        for line in lines:
            if line.startswith(mark) and line.strip():
                return line.removeprefix(mark).strip()
    return "apt gave no reason"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record(directory: Path, fetched: Sequence[Fetched]) -> None:
    """Add `fetched` to the manifest in `directory`, which keeps entries of files still there."""
    path = directory / MANIFEST
    entries: dict[str, object] = {}
    try:
        for entry in json.loads(path.read_text())["packages"]:
            if (directory / entry["file"]).is_file():
                entries[entry["file"]] = entry
    except (OSError, ValueError, KeyError, TypeError):
        entries.clear()  # missing, or not a manifest of ours
    entries |= {item.file: asdict(item) for item in fetched}
    manifest = {"packages": [entries[name] for name in sorted(entries)]}
    replace_file(path, (json.dumps(manifest, indent=2) + "\n").encode())
