"""The current kernel image packages of Debian."""

import functools
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from verify.errors import InputError
from verify.image.apt import Apt, Mirror, Package, UnreachableError, run, system_mirrors
from verify.image.files import make_directory, replace_files

__all__ = ["DEFAULT_SUITE", "FLAVOURS", "Fetched", "Mirror", "UnreachableError", "fetch"]

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

# linux-binary-* is the kernel image alone; in older suites linux-image-* holds it with its modules.
NAME = re.compile(r"linux-(binary|image)-[0-9][0-9A-Za-z.+~]*(-[0-9]+)?-(?P<flavour>.*)")
SUITE = re.compile(r"[a-z][a-z0-9.-]*")

# The description of what is being done, the bytes done, and the bytes in all or None.
Progress = Callable[[str, int, int | None], None]


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


def _silent(_description: str, _done: int, _total: int | None) -> None:
    """Show no progress."""


def fetch(
    architectures: Sequence[str],
    suite: str,
    directory: Path,
    progress: Progress = _silent,
    mirrors: Sequence[Mirror] | None = None,
) -> list[Fetched]:
    """Download the newest kernel image package of each Debian architecture into `directory`.

    The mirrors are those of the system's apt configuration unless given. A complete file that is
    already there is kept; what was got is recorded in `MANIFEST` there. Raises `InputError` for
    unknown architectures or suites, without apt and when the suite has no such kernel,
    `UnreachableError` when no mirror delivers.
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
    make_directory(directory)
    wanted = list(dict.fromkeys(architectures))
    with tempfile.TemporaryDirectory(prefix="vdso-verify-") as root:
        apt = Apt(Path(root), wanted, suite, source)
        progress(f"package lists of {source}", 0, None)
        apt.update(system_mirrors() if mirrors is None else mirrors)
        kernels = _newest_kernels(apt)
        fetched = [_fetched(apt, package, directory, progress) for package in kernels]
    _record(directory, fetched)
    return fetched


def _newest_kernels(apt: Apt) -> list[Package]:
    """Return the newest kernel image package for each architecture, in the order asked for.

    Only the standard flavour counts, not those for clouds, real time or debugging.
    """
    flavours = {
        name: match["flavour"] for name in apt.names("linux-") if (match := NAME.fullmatch(name))
    }
    packages = apt.packages(
        [
            f"{name}:{architecture}"
            for architecture in apt.architectures
            for name, flavour in flavours.items()
            if flavour == FLAVOURS[architecture]
        ]
    )
    newest = []
    for architecture in apt.architectures:
        candidates = [p for p in packages if p.architecture == architecture]
        if not candidates:
            raise InputError(
                apt.source, f"has no kernel image package for {architecture}; try another suite"
            )
        # Of the same version the first is taken: linux-binary-*, before linux-image-*.
        newest.append(max(candidates, key=functools.cmp_to_key(_compare)))
    return newest


def _compare(first: Package, second: Package) -> int:
    """Order two packages by version."""
    for relation, result in (("lt", -1), ("gt", 1)):
        command = ["dpkg", "--compare-versions", first.version, relation, second.version]
        if run(command).returncode == 0:
            return result
    return 0


def _fetched(apt: Apt, package: Package, directory: Path, progress: Progress) -> Fetched:
    """Get one package into `directory`, unless it is there."""
    target = directory / package.file
    if not (target.is_file() and _sha256(target) == package.sha256):
        content = apt.download(package, lambda done: progress(package.name, done, package.size))
        replace_files(directory, {package.file: content})
    progress(package.name, package.size, package.size)
    return Fetched(
        architecture=package.architecture,
        suite=apt.suite,
        package=package.name,
        version=package.version,
        file=package.file,
        size=package.size,
        sha256=package.sha256,
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # to be replaced


def _record(directory: Path, fetched: Sequence[Fetched]) -> None:
    """Add `fetched` to the manifest in `directory`, which keeps entries of files still there."""
    entries: dict[str, object] = {}
    try:
        for entry in json.loads((directory / MANIFEST).read_text())["packages"]:
            if (directory / entry["file"]).is_file():
                entries[entry["file"]] = entry
    except (OSError, ValueError, KeyError, TypeError):
        entries.clear()  # missing, or not a manifest of ours
    entries |= {item.file: asdict(item) for item in fetched}
    manifest = {"packages": [entries[name] for name in sorted(entries)]}
    replace_files(directory, {MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()})
