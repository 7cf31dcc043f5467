"""Packages are fetched from a signed archive, and from no other; here a small one on disk."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.image import containers, elves
from verify.errors import InputError
from verify.image import debian, open_images
from verify.image.apt import system_mirrors
from verify.image.debian import Fetched, Mirror, UnreachableError, fetch

pytestmark = pytest.mark.skipif(
    shutil.which("apt-get") is None, reason="fetch needs apt, which only Debian and Ubuntu have"
)

VDSO = elves.shared_object()
LOONG64 = containers.deb({"./boot/vmlinuz": containers.arm64_image(elves.kernel(VDSO))}, "gzip")
OLDER = containers.deb({"./boot/vmlinuz": b"older"}, "gzip")

# Name, version, architecture, content.
PACKAGES = [
    ("linux-binary-7.2.9+deb14-loong64", "7.2.9-1", "loong64", OLDER),
    ("linux-image-7.2.13+deb14-loong64", "7.2.13-1", "loong64", OLDER),
    ("linux-binary-7.2.13+deb14-loong64", "7.2.13-1", "loong64", LOONG64),
    ("linux-binary-7.2.14+deb14-rt-loong64", "7.2.14-1", "loong64", OLDER),
    ("linux-binary-unsigned-7.2.15+deb14-loong64", "7.2.15-1", "loong64", OLDER),
    ("linux-image-7.2.16+deb14-loong64-dbg", "7.2.16-1", "loong64", OLDER),
    ("linux-image-loong64", "7.2.99-1", "loong64", OLDER),
    ("linux-headers-9-loong64", "9", "loong64", OLDER),
    ("linux-image-6.12.48-1-powerpc64le", "6.12.48-1", "ppc64el", OLDER),
    ("linux-image-6.12.48-1-powerpc64le-64k", "6.12.49-1", "ppc64el", OLDER),
]
NEWEST = "linux-binary-7.2.13+deb14-loong64_7.2.13-1_loong64.deb"
ARCHITECTURES = ("loong64", "ppc64el", "s390x")


@dataclass
class Archive:
    """A Debian archive in a directory, with the key that signs it."""

    root: Path
    home: Path

    @property
    def mirror(self) -> Mirror:
        return Mirror(f"file:{self.root}", str(self.root / "key.asc"))

    def gpg(self, *arguments: str) -> None:
        home = ["gpg", "--homedir", str(self.home), "--batch", "--yes", "--quiet"]
        subprocess.run([*home, *arguments], check=True, capture_output=True)

    def write(self) -> None:
        self.gpg("--passphrase", "", "--quick-generate-key", "test", "ed25519", "sign", "never")
        self.gpg("--armor", "--output", str(self.root / "key.asc"), "--export", "test")
        (self.root / "pool").mkdir()
        release = "Origin: Debian\nSuite: unstable\nCodename: sid\nComponents: main\n"
        release += "Date: Mon, 05 Jan 2026 00:00:00 UTC\n"
        release += f"Architectures: {' '.join(ARCHITECTURES)}\nSHA256:\n"
        for architecture in ARCHITECTURES:
            listing = ""
            for name, version, of, content in PACKAGES:
                if of == architecture:
                    file = f"pool/{name}_{version}_{of}.deb"
                    (self.root / file).write_bytes(content)
                    listing += (
                        f"Package: {name}\nVersion: {version}\nArchitecture: {of}\n"
                        f"Maintainer: nobody\nFilename: {file}\nSize: {len(content)}\n"
                        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
                        f"Description: kernel\n of a test\n\n"
                    )
            path = Path("main", f"binary-{architecture}", "Packages")
            data = listing.encode()
            (self.suite / path).parent.mkdir(parents=True)
            (self.suite / path).write_bytes(data)
            release += f" {hashlib.sha256(data).hexdigest()} {len(data)} {path}\n"
        self.release(release)

    @property
    def suite(self) -> Path:
        return self.root / "dists" / "unstable"

    def release(self, text: str) -> None:
        (self.suite / "Release").write_text(text)
        self.gpg(
            *("--output", str(self.suite / "InRelease")),
            *("--clearsign", str(self.suite / "Release")),
        )


@pytest.fixture
def archive() -> Iterator[Archive]:
    """An archive where apt's own user can read it, and a short path for gpg's agent."""
    if shutil.which("gpg") is None:
        pytest.fail("this test signs an archive with gpg; install it: apt-get install gpg")
    with (
        tempfile.TemporaryDirectory(prefix="archive-") as root,
        tempfile.TemporaryDirectory(prefix="gpg-") as home,
    ):
        Path(root).chmod(0o755)
        made = Archive(Path(root), Path(home))
        made.write()
        yield made
        subprocess.run(
            ["gpgconf", "--homedir", home, "--kill", "all"], check=False, capture_output=True
        )


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_newest_kernel_of_the_standard_flavour(archive: Archive, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    fetched = fetch(
        ["loong64", "ppc64el", "loong64"],
        "unstable",
        tmp_path / "new",
        lambda *arguments: told.append(arguments),
        [archive.mirror],
    )
    old = hashlib.sha256(OLDER).hexdigest()
    assert fetched == [
        Fetched(
            architecture="loong64",
            suite="unstable",
            package="linux-binary-7.2.13+deb14-loong64",
            version="7.2.13-1",
            file=NEWEST,
            size=len(LOONG64),
            sha256=hashlib.sha256(LOONG64).hexdigest(),
        ),
        Fetched(
            architecture="ppc64el",
            suite="unstable",
            package="linux-image-6.12.48-1-powerpc64le",
            version="6.12.48-1",
            file="linux-image-6.12.48-1-powerpc64le_6.12.48-1_ppc64el.deb",
            size=len(OLDER),
            sha256=old,
        ),
    ]
    assert names(tmp_path / "new") == [*(f.file for f in fetched), "packages.json"]
    assert open_images(tmp_path / "new" / NEWEST)[0].data == VDSO
    manifest = json.loads((tmp_path / "new" / "packages.json").read_text())
    assert [entry["file"] for entry in manifest["packages"]] == [f.file for f in fetched]
    assert manifest["packages"][1]["sha256"] == old
    assert told[0] == ("package lists of Debian unstable", 0, None)
    assert told[-1] == (fetched[1].package, len(OLDER), len(OLDER))
    assert all(0 <= done <= (total or 0) for _, done, total in told[1:])


def test_a_complete_file_is_kept_and_a_damaged_one_replaced(
    archive: Archive, tmp_path: Path
) -> None:
    fetch(["ppc64el"], "unstable", tmp_path, mirrors=[archive.mirror])
    (complete,) = tmp_path.glob("*.deb")
    before = complete.stat()
    (tmp_path / NEWEST).write_bytes(LOONG64[:100])
    fetch(["ppc64el", "loong64"], "unstable", tmp_path, mirrors=[archive.mirror])
    assert (complete.stat().st_ino, complete.stat().st_mtime) == (before.st_ino, before.st_mtime)
    assert (tmp_path / NEWEST).read_bytes() == LOONG64
    complete.unlink()
    fetch(["loong64"], "unstable", tmp_path, mirrors=[archive.mirror])
    manifest = json.loads((tmp_path / "packages.json").read_text())
    assert [entry["file"] for entry in manifest["packages"]] == [NEWEST]


def test_the_next_mirror_is_tried(archive: Archive, tmp_path: Path) -> None:
    mirrors = [Mirror("file:/nonexistent", ""), archive.mirror]
    assert fetch(["loong64"], "unstable", tmp_path, mirrors=mirrors)


def refused(archive: Archive, directory: Path) -> str:
    with pytest.raises(UnreachableError) as error:
        fetch(["loong64"], "unstable", directory, mirrors=[archive.mirror])
    assert str(error.value).startswith("Debian unstable: ")
    assert str(error.value).isprintable()
    assert names(directory) == []
    return str(error.value)


def test_unsigned_archive_is_refused(archive: Archive, tmp_path: Path) -> None:
    (archive.suite / "InRelease").unlink()
    assert "is not signed" in refused(archive, tmp_path)


def test_archive_signed_with_another_key_is_refused(archive: Archive, tmp_path: Path) -> None:
    archive.gpg("--passphrase", "", "--quick-generate-key", "other", "ed25519", "sign", "never")
    archive.gpg("--armor", "--output", str(archive.root / "key.asc"), "--export", "other")
    assert "sign" in refused(archive, tmp_path)


def test_changed_package_list_is_refused(archive: Archive, tmp_path: Path) -> None:
    (listing,) = archive.suite.glob("main/binary-loong64/Packages")
    listing.write_text(listing.read_text().replace("7.2.13-1", "7.2.13-2"))
    assert "package lists cannot be fetched" in refused(archive, tmp_path)


def test_changed_package_is_refused(archive: Archive, tmp_path: Path) -> None:
    path = archive.root / "pool" / NEWEST
    path.write_bytes(LOONG64[:-1] + b"x")
    assert "linux-binary-7.2.13+deb14-loong64" in refused(archive, tmp_path)


def test_missing_package_is_reported(archive: Archive, tmp_path: Path) -> None:
    (archive.root / "pool" / NEWEST).unlink()
    assert "linux-binary-7.2.13+deb14-loong64" in refused(archive, tmp_path)


def test_suite_without_a_kernel_for_the_architecture(archive: Archive, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no kernel image package for s390x"):
        fetch(["loong64", "s390x"], "unstable", tmp_path, mirrors=[archive.mirror])
    assert names(tmp_path) == []


def test_unreachable_mirror(tmp_path: Path) -> None:
    mirrors = [Mirror("http://localhost:9", "")]  # the discard port, where nothing listens
    with pytest.raises(UnreachableError, match="package lists cannot be fetched"):
        fetch(["loong64"], "unstable", tmp_path, mirrors=mirrors)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("architectures", "suite", "reason"),
    [
        (["loong64", "vax"], "unstable", "vax: not an architecture known here: amd64, arm64"),
        ([], "unstable", "not an architecture known here"),
        (["loong64"], "sid\nDeb-Src: yes", "not the name of a Debian suite"),
        (["loong64"], "../x", "not the name of a Debian suite"),
    ],
)
def test_wrong_arguments(architectures: list[str], suite: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        fetch(architectures, suite, tmp_path / "new")
    assert reason in str(error.value)
    assert names(tmp_path) == []


def test_without_apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get: not found; fetch needs apt"):
        fetch(["loong64"], "unstable", tmp_path)


def test_mirrors_come_from_the_systems_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = tmp_path / "test.sources"
    sources.write_text(
        "Types: deb deb-src\nURIs: http://one.invalid/debian\nSuites: trixie trixie-updates\n"
        "Components: main contrib\n\n"
        "Types: deb\nURIs: http://two.invalid/debian-security\nSuites: trixie-security\n"
        "Components: main\n\n"
        "Types: deb\nURIs: cdrom:[Debian]\nSuites: trixie\nComponents: main\n\n"
        "Types: deb\nURIs: https://three.invalid/apt\nSuites: ./\n"
    )
    configuration = tmp_path / "apt.conf"
    monkeypatch.setenv("APT_CONFIG", str(configuration))

    def configure(path: Path) -> None:
        configuration.write_text(
            f'Dir::Etc::sourcelist "{path}";\nDir::Etc::sourceparts "/dev/null";\n'
            f'Dir::State "{tmp_path}";\n'
        )

    configure(sources)
    assert [mirror.uri for mirror in system_mirrors()] == ["http://one.invalid/debian"]
    sources.write_text("")
    with pytest.raises(InputError, match="names no Debian mirror"):
        system_mirrors()


AWAY = re.compile(
    "resolv|connect|timed out|unreachable|is expired|not valid yet|no mirror", re.IGNORECASE
)
"""What apt says where there is no mirror, or only one that is out of date; a wrong signature or a
wrong hash is none of these."""


@pytest.mark.network
def test_a_real_kernel(tmp_path: Path) -> None:
    try:
        (fetched,) = fetch(["loong64"], debian.DEFAULT_SUITE, tmp_path)
    except UnreachableError as error:
        if not AWAY.search(str(error)):
            raise
        pytest.skip(str(error))
    (image,) = open_images(tmp_path / fetched.file)
    assert image.elf.machine == "EM_LOONGARCH"
    assert image.elf.getrandom is not None
    assert image.elf.build_id
