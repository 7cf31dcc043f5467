"""The committed binaries are what their sources build, bit for bit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from binaries import build, patches
from binaries.products import products

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.every_fault
def test_rebuild_is_bit_for_bit_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--check"]) == 0, capfd.readouterr().err


def test_nothing_of_the_machine_is_in_a_file() -> None:
    for product in products(build.ROOT):
        data = (build.ROOT / product.path).read_bytes()
        assert not re.search(rb"/(home|root|tmp|usr|work)/|\.S\0|/[^\0]*\.c\0", data), product.path


def test_every_binary_in_the_tree_is_in_the_manifest() -> None:
    manifests = [
        json.loads(path.read_text()) for path in build.ROOT.glob(f"binaries/*/{build.MANIFEST}")
    ]
    listed = {entry["path"] for manifest in manifests for entry in manifest["files"]}
    present = {
        path.relative_to(build.ROOT).as_posix()
        for pattern in ("binaries/**/*.so", "verify/qemu/runners/*")
        for path in build.ROOT.glob(pattern)
    }
    assert listed == present


def test_check_names_files_that_differ_or_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "same").write_bytes(b"1")
    (tmp_path / "other").write_bytes(b"1")
    found = build.differences({"same": b"1", "other": b"2", "absent": b"3"})
    assert found == [
        "other: differs from what its sources build",
        "absent: missing; run `make binaries`",
    ]


@pytest.mark.parametrize("source", ["nothing of the kind", "old old"])
def test_a_fault_that_does_not_fit_its_program_is_an_error(source: str) -> None:
    fault = patches.Fault(
        name="name",
        architecture="loongarch64",
        base="looped",
        refuted_by=("output",),
        description="",
        edits=(patches.Edit("old", "new"),),
    )
    with pytest.raises(patches.PatchError, match=r"^fault name: 'old' occurs \d times in .*\.S$"):
        patches.apply(fault, source)


@pytest.mark.parametrize("source", ["#define OTHER\t1\n", "#define N\t1\n#define N\t2\n"])
def test_a_macro_to_redefine_is_defined_once(source: str) -> None:
    with pytest.raises(patches.PatchError, match=r"^N is defined [02] times$"):
        patches.Redefine("N", "3").apply(source)
    assert patches.Redefine("N", "3").apply("#define N\t1\n#define NN 1\n") == (
        "#define N\t3\n#define NN 1\n"
    )


def describe(directory: Path, faults: str, build: str = "") -> None:
    """Write the descriptions of one architecture."""
    directory.mkdir()
    (directory / "faults.toml").write_text(faults)
    (directory / "build.toml").write_text(build)


SHARED = """
[[fault]]
name = "one"
refuted_by = ["output"]
description = "d"
"""


@pytest.mark.parametrize(
    ("shared", "own", "reason"),
    [
        ("", "[two]\nedits = []", "fault two of arch is not described"),
        ("", "[without]\ntwo = 'why'", "fault two of arch is not described"),
        ("after = '.Lx'", "", "fault one is neither made nor excused by arch"),
        (SHARED, "[one]\nedits = []", "fault one is described twice"),
    ],
)
def test_no_fault_is_left_out_silently(tmp_path: Path, shared: str, own: str, reason: str) -> None:
    (tmp_path / "faults.toml").write_text(SHARED + shared)
    describe(tmp_path / "arch", own)
    with pytest.raises(patches.PatchError, match=reason):
        patches.load(tmp_path)


def test_a_shared_fault_is_made_unless_it_is_excused(tmp_path: Path) -> None:
    (tmp_path / "faults.toml").write_text(SHARED + "after = '.Lx'")
    own = {"made": "[one]\ntext = 'nop'", "excused": "[without]\none = 'no such register'"}
    for name, text in own.items():
        describe(tmp_path / name, text)
    (fault,) = patches.load(tmp_path)
    assert fault.architecture == "made"
    assert patches.apply(fault, "a\n.Lx:\nb\n") == "a\n.Lx:\nnop\nb\n"


def test_faults_are_those_of_the_architecture_whose_sources_are_used(tmp_path: Path) -> None:
    others = "[[fault]]\nname = 'two'\nrefuted_by = ['abi']\ndescription = 'd'\n"
    (tmp_path / "faults.toml").write_text(SHARED + "after = '.Lx'\n" + others)
    describe(tmp_path / "first", "[one]\ntext = 'a'\n[two]\nedits = [{ old = 'b', new = 'c' }]")
    describe(tmp_path / "second", "[one]\ntext = 'b'\n[two]", "sources = 'first'")
    describe(tmp_path / "third", "", "sources = 'first'")
    found = {(fault.architecture, fault.name): fault for fault in patches.load(tmp_path)}
    assert {fault.source for fault in found.values()} == {"binaries/first/looped.S"}
    texts = {key: [vars(edit)["new"] for edit in fault.edits] for key, fault in found.items()}
    assert texts == {
        ("first", "one"): ["\n.Lx:\na\n"],
        ("first", "two"): ["c"],
        ("second", "one"): ["\n.Lx:\nb\n"],
        ("second", "two"): ["c"],
        ("third", "one"): ["\n.Lx:\na\n"],
    }
