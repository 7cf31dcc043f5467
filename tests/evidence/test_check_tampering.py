"""A certificate of which one byte is changed is refused; whoever changes the hashes, too, gets past
them only with what the certificate tells about itself."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evidence.forge import Files, certificate_of, refusal
from verify.errors import InputError
from verify.evidence import check
from verify.evidence.certificate import save
from verify.evidence.check_model import RefusedError

PROGRAM = "loongarch64/looped.so"
FEW = ("counter", "footprint", "stack", "abi", "timing", "termination")
DESCRIPTIVE = {"generator", "target", "variant", "caveats", "tools", "disassembly", "abi", "model"}
"""The parts of the index that can hold what nothing in the certificate contradicts."""


def sealed(files: Files) -> Files:
    return {**files, check.SUMS: check.sums(files)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    save(sealed(certificate_of(PROGRAM, FEW)), tmp_path / "certificate")
    return tmp_path / "certificate"


def flipped(data: bytes, generator: random.Random) -> bytes:
    position = generator.randrange(len(data))
    changed = data[position] ^ (1 << generator.randrange(8))
    return data[:position] + bytes([changed]) + data[position + 1 :]


def test_untouched(place: Path) -> None:
    assert check.read(place) == certificate_of(PROGRAM, FEW)


def test_every_file_is_sealed(place: Path) -> None:
    """Four changes of one byte in each file, the list of hashes included."""
    generator = random.Random(0)
    paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
    assert len(paths) > 50
    for path in paths:
        honest = path.read_bytes()
        for _ in range(4):
            path.write_bytes(flipped(honest, generator))
            with pytest.raises(RefusedError):
                check.read(place)
        path.write_bytes(honest)
    check.read(place)


def test_bytes_in_front_and_behind(place: Path) -> None:
    for path in (place / check.INDEX, place / check.MODEL, place / check.SUMS):
        honest = path.read_bytes()
        for changed in (honest[:-1], honest + b"\n", b" " + honest, b""):
            path.write_bytes(changed)
            with pytest.raises(RefusedError):
                check.read(place)
        path.write_bytes(honest)


def test_files_too_many_and_too_few(place: Path) -> None:
    (place / "more").write_bytes(b"")
    with pytest.raises(RefusedError, match="are not those"):
        check.read(place)
    (place / "more").unlink()
    (place / check.MODEL).rename(place / "model")
    with pytest.raises(RefusedError, match="are not those"):
        check.read(place)
    (place / "model").rename(place / check.MODEL)
    (place / check.SUMS).rename(place.parent / "sums")
    with pytest.raises(RefusedError, match="is missing"):
        check.read(place)
    (place / check.SUMS).symlink_to(place.parent / "sums")
    with pytest.raises(RefusedError, match="ordinary"):
        check.read(place)


@pytest.mark.parametrize("part", ["obligations/", check.CODE, check.MODEL])
def test_changed_byte_with_new_hashes(part: str) -> None:
    """What is proved cannot be changed by a byte, whatever the hashes say."""
    files = certificate_of(PROGRAM, FEW)
    generator = random.Random(part)
    names = sorted(name for name in files if name.startswith(part))
    used = 0
    for _ in range(60):
        name = generator.choice(names)
        changed = {**files, name: flipped(files[name], generator)}
        # Values that only the properties left out here speak of are in the model, too.
        accepted = refusal(changed, PROGRAM, FEW) == ""
        assert not (accepted and part != check.MODEL)
        used += not accepted
    assert used > 20


def test_changed_index_with_new_hashes() -> None:
    """Most of the index is worked out again; the rest says so by its name."""
    import json

    files = certificate_of(PROGRAM, FEW)
    honest = json.loads(files[check.INDEX])
    generator = random.Random(1)
    for _ in range(120):
        changed = {**files, check.INDEX: flipped(files[check.INDEX], generator)}
        if refusal(changed, PROGRAM, FEW) == "":
            index = json.loads(changed[check.INDEX])
            different = {key for key in honest | index if honest.get(key) != index.get(key)}
            assert different <= DESCRIPTIVE


def test_same_input_gives_the_same_bytes() -> None:
    files = certificate_of(PROGRAM, FEW)
    certificate_of.cache_clear()
    assert certificate_of(PROGRAM, FEW) == files


def test_directory_must_be_empty(place: Path) -> None:
    with pytest.raises(InputError, match="not empty"):
        save(sealed(certificate_of(PROGRAM, FEW)), place)


def test_checker_loads_no_prover() -> None:
    """Neither angr nor anything of the project but the checker's own modules and specs."""
    program = (
        "import sys, verify.evidence.check, verify.evidence.check_solvers\n"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('verify', 'specs', 'angr')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    parts = ("", "_model", "_properties", "_solvers", "_zeros")
    own = [f"verify.evidence.check{part}" for part in parts]
    assert set(done.stdout.split()) == {
        *("specs", "specs.chacha20", "specs.contract"),
        *("verify", "verify.evidence", "verify.evidence.check_terms", *own),
    }
