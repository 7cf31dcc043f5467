"""A proof is taken from the cache only if nothing that it depends on has changed, and its
certificate is in order; all else is proved anew."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.forge import forged
from tests.proving import BINARIES, target_of
from verify.arch.patching import Condition
from verify.batch import prove_files, targets_in
from verify.cache import CERTIFICATE, RESULT, SEAL, ProofCache, hash_of, key_of
from verify.cli import run
from verify.evidence import check
from verify.evidence.certificate import certificates
from verify.evidence.check_model import RefusedError
from verify.image import Relocation, Section
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.progress import Progress
from verify.resultjson import Failure, dumps, encode, from_json
from verify.run import prove
from verify.target import Alternative, CodeSegment, Target
from verify.verdict import Caveat, Contract, Result, Verdict

PROGRAM = "loongarch64/looped.so"
FAULTY = "faults/loongarch64/register-not-restored.so"
FEW = Options(("counter", "abi"))
ARGUMENTS = ("prove", "--property", "counter", "--property", "abi")
SECRET = b"a secret"
HARNESS = {"sources": "these"}
Files = dict[str, bytes]


@cache
def proof(program: str = PROGRAM) -> tuple[Result, Mapping[str, bytes]]:
    """A proof of few properties, and its certificate."""
    import_angr()
    parts: list[Any] = []
    result = prove(target_of(program), FEW, certify=lambda *part: parts.append(part))
    return result, certificates(result, parts)


def filled(directory: Path, secret: bytes = b"") -> ProofCache:
    """A cache with that proof."""
    made = ProofCache(directory, secret, HARNESS)
    made.keep(target_of(PROGRAM), FEW, *proof())
    return made


def entry_of(made: ProofCache, directory: Path) -> Path:
    return directory / made.key(target_of(PROGRAM), FEW)


class Notes:
    """Listens to a batch and remembers the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def started(self, target: Target, number: int, total: int) -> None:
        """Nothing to remember."""

    def progressed(self, progress: Progress) -> None:
        """Likewise."""

    def finished(self, result: Result) -> None:
        """Likewise."""

    def failed(self, failure: Failure) -> None:
        raise AssertionError(failure)

    def noted(self, source: str, note: str) -> None:
        self.notes.append(f"{source}: {note}")


# Hits


def test_a_hit_is_what_was_proved(tmp_path: Path) -> None:
    kept = filled(tmp_path).find(target_of(PROGRAM), FEW)
    assert kept is not None
    result, made = proof()
    assert kept.certificates() == made
    assert kept.result.caveats == (*result.caveats, Caveat.READING_CACHED)
    assert kept.result.findings[:-1] == result.findings
    assert kept.result.findings[-1].startswith("from the proof cache: ")
    assert kept.result.tools == {**result.tools, "bitwuzla": kept.result.tools["bitwuzla"]}
    same = {name: getattr(result, name) for name in ("caveats", "findings", "tools", "seconds")}
    assert dataclasses.replace(kept.result, **same) == result


def test_a_hit_has_the_names_of_today(tmp_path: Path) -> None:
    """Another file with the same code: its hash is in the result and in the certificate."""
    moved = tmp_path / "moved.so"
    moved.write_bytes((BINARIES / PROGRAM).read_bytes() + b"\0")
    (target,) = targets_in(str(moved), None)
    assert isinstance(target, Target)
    kept = filled(tmp_path / "cache").find(target, FEW)
    assert kept is not None
    assert (kept.result.target.source, kept.result.target.sha256) == (str(moved), target.sha256)
    index = json.loads(kept.certificates()[check.INDEX])
    assert index["target"]["source"] == "moved.so"
    assert index["target"]["image_sha256"] == target.image_sha256
    parts: list[Any] = []
    result = prove(target, FEW, certify=lambda *part: parts.append(part))
    assert kept.certificates() == certificates(result, parts)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, directory = str(BINARIES / PROGRAM), tmp_path / "cache"
    line = f"{program}: __arch_chacha20_blocks_nostack: PROVED"
    arguments = [*ARGUMENTS, "-q", program, "--cache", str(directory)]
    shown: list[Any] = []
    for more in (["--no-cache"], [], ["--json", str(tmp_path / "json")], ["--no-cache"]):
        assert directory.exists() == (len(shown) > 1)
        assert run([*arguments, *more]) == 0
        shown.append(capsys.readouterr())
    assert [one.out for one in shown] == [
        f"{line}\n",
        f"{line}\n",
        f"{line} (from the proof cache)\n",
        f"{line}\n",
    ]
    assert {one.err for one in shown} == {""}
    (result,) = from_json(json.loads((tmp_path / "json").read_text())).results
    assert Caveat.READING_CACHED in result.caveats
    assert run(["check", str(directory)]) == 0


def test_the_variable_names_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(BINARIES / PROGRAM)
    monkeypatch.setenv("VDSO_VERIFY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VDSO_VERIFY_CACHE_KEY", "one")
    assert run([*ARGUMENTS, "-q", program]) == 0
    assert run([*ARGUMENTS, program]) == 0
    assert "caveats: regions-disjoint, solver-trusted, reading-cached" in capsys.readouterr().out
    monkeypatch.setenv("VDSO_VERIFY_CACHE_KEY", "another")
    assert run([*ARGUMENTS, "-q", program]) == 0
    output, errors = capsys.readouterr()
    assert output.endswith("PROVED\n")
    assert errors.count("\n") == 1
    assert "is not used (its seal does not fit); proved anew" in errors


# Misses


def _segment(**changes: Any) -> Callable[[Target], Target]:
    def change(target: Target) -> Target:
        last = dataclasses.replace(target.segments[-1], **changes)
        return dataclasses.replace(target, segments=(*target.segments[:-1], last))

    return change


def _last_byte(target: Target) -> Target:
    data = target.segments[0].data
    first = dataclasses.replace(target.segments[0], data=data[:-1] + bytes([data[-1] ^ 1]))
    return dataclasses.replace(target, segments=(first, *target.segments[1:]))


def _field(**changes: Any) -> Callable[[Target], Target]:
    return lambda target: dataclasses.replace(target, **changes)


def _function(**changes: Any) -> Callable[[Target], Target]:
    return lambda target: dataclasses.replace(
        target, function=dataclasses.replace(target.function, **changes)
    )


CHANGES: dict[str, Callable[[Target], Target]] = {
    "a byte that the image loads": _last_byte,
    "the permissions of a segment": _segment(executable=False),
    "the place of a segment": _segment(address=1),
    "one more segment": lambda target: dataclasses.replace(
        target, segments=(*target.segments, CodeSegment(1 << 20, b"1", False))
    ),
    "where the function begins": _function(address=4),
    "where it ends": _function(size=4),
    "its TOC base": _function(toc=0),
    "what it calls": lambda target: dataclasses.replace(target, callee=target.function),
    "architecture": lambda target: dataclasses.replace(
        target, architecture=target_of("powerpc64le/looped.so").architecture
    ),
    "what is patched": _field(
        alternatives=(Alternative(0, b"1234", Condition((("x", True),), True)),)
    ),
    "what a variant lacks": _field(
        left_out=(Alternative(0, b"1234", Condition((("x", True),), True)),)
    ),
    "what cannot be known": _field(patching_unknown="why"),
    "why nothing can be said": _field(unusable="why"),
    "the kernel's release": _field(linux_version=(6, 12, 107)),
    "that it runs": _field(running=True),
    "a relocation": _field(relocations=(Relocation(0, 1, ""),)),
    "a linkage stub": _field(stubs=(Section(".plt", 0, 16, True),)),
}
OPTIONS: dict[str, Any] = {
    "properties": ("counter",),
    "budget": 1,
    "timeout": 1.0,
    "both_lifters": True,
    "contract": Contract.GETRANDOM,
    "page_bytes": 4096,
    "data_page": 0,
    "linux": (6, 12),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_target_is_a_miss(change: str, tmp_path: Path) -> None:
    target = target_of(PROGRAM)
    changed = CHANGES[change](target)
    assert changed != target
    assert key_of(changed, FEW, HARNESS) != key_of(target, FEW, HARNESS)
    assert filled(tmp_path).find(changed, FEW) is None


@pytest.mark.parametrize("option", OPTIONS)
def test_a_change_of_the_options_is_a_miss(option: str, tmp_path: Path) -> None:
    changed = dataclasses.replace(FEW, **{option: OPTIONS[option]})
    assert filled(tmp_path).find(target_of(PROGRAM), changed) is None


def test_no_option_is_forgotten() -> None:
    """Those left out say how fast, and what is done where a property is not PROVED."""
    named = {field.name for field in dataclasses.fields(Options)}
    assert named == OPTIONS.keys() | {"jobs", "replay", "certificate"}


def test_no_field_of_a_target_is_forgotten() -> None:
    """Those left out are names, and of what the result says anew."""
    changed: set[str] = set()
    target = target_of(PROGRAM)
    for change in CHANGES.values():
        made = change(target)
        for field in dataclasses.fields(Target):
            if getattr(made, field.name) != getattr(target, field.name):
                changed.add(field.name)
    names = {"source", "sha256", "path", "image_sha256", "build_id"}
    assert changed | names == {field.name for field in dataclasses.fields(Target)}


def test_another_version_of_the_harness_is_a_miss(tmp_path: Path) -> None:
    filled(tmp_path)
    other = ProofCache(tmp_path, harness={"sources": "those"})
    assert other.find(target_of(PROGRAM), FEW) is None


def test_the_version_of_the_harness_is_that_of_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "room/__pycache__").mkdir(parents=True)
    (tmp_path / "room/record.json").write_text("{}")
    seen = [hash_of({"package": tmp_path})]
    (tmp_path / "room/__pycache__/module.pyc").write_text("not a source")
    assert hash_of({"package": tmp_path}) == seen[0]
    (tmp_path / "room/record.json").write_text("[]")
    seen.append(hash_of({"package": tmp_path}))
    (tmp_path / "room/record.json").rename(tmp_path / "record.json")
    seen.append(hash_of({"package": tmp_path}))
    (tmp_path / "module.py").touch()
    seen.append(hash_of({"package": tmp_path}))
    assert len(set(seen)) == len(seen)


def test_only_what_is_proved_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faulty = str(BINARIES / FAULTY)
    arguments = [*ARGUMENTS, "-q", "--no-replay", "--cache", str(tmp_path / "cache"), faulty]
    for _ in range(2):
        assert run(arguments) == 3
        output, errors = capsys.readouterr()
        assert output.endswith(": UNKNOWN\n")
        assert errors == ""
    assert not (tmp_path / "cache").exists()


# Entries that are not in order


def resealed(entry: Path, secret: bytes, change: Callable[[Files], object]) -> None:
    """Change the files of an entry as somebody would who knows how they are sealed."""
    files = {name: content for name, content in check.load(entry).items() if name != SEAL}
    change(files)
    shutil.rmtree(entry)
    files[SEAL] = ProofCache(entry.parent, secret)._seal(entry.name, files)
    for name, content in files.items():
        path = entry / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def sums_again(files: Files) -> None:
    mine = {
        name.removeprefix(CERTIFICATE): content
        for name, content in files.items()
        if name.startswith(CERTIFICATE) and not name.endswith(check.SUMS)
    }
    files[CERTIFICATE + check.SUMS] = check.sums(mine)


def _edit(name: str, old: bytes, new: bytes) -> Callable[[Files], object]:
    def change(files: Files) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)
        sums_again(files)

    return change


def _weaker(files: Files) -> None:
    """An obligation that says nothing."""
    name = next(name for name in files if "obligations/counter" in name)
    files[name] = files[name].replace(b"(check-sat)", b"(assert false)\n(check-sat)")
    sums_again(files)


def _false(files: Files) -> None:
    """A reading in which a register is not restored, with the obligations that follow."""

    def edit(index: dict[str, Any]) -> None:
        for segment in index["model"]["segments"]:
            if segment["end"] == "exit":
                segment["registers"]["s0"] = segment["registers"]["s1"]

    inside = {
        name.removeprefix(CERTIFICATE): content
        for name, content in files.items()
        if name.startswith(CERTIFICATE)
    }
    for name in inside:
        del files[CERTIFICATE + name]
    made = forged(inside, edit)
    files |= {CERTIFICATE + name: content for name, content in made.items()}
    sums_again(files)


def _other_properties(files: Files) -> None:
    document = json.loads(files[RESULT])
    document["results"][0]["properties"].pop()
    files[RESULT] = dumps(document).encode()


def _other_function(files: Files) -> None:
    document = json.loads(files[RESULT])
    document["results"][0]["target"]["address"] = "0x1"
    files[RESULT] = dumps(document).encode()


def _other_variant(files: Files) -> None:
    document = json.loads(files[RESULT])
    document["results"][0]["variants"][0]["name"] = "x"
    files[RESULT] = dumps(document).encode()


DAMAGE: dict[str, tuple[Callable[[Files], object], str]] = {
    "no result": (lambda files: files.pop(RESULT), "KeyError"),
    "an empty result": (lambda files: files.update({RESULT: b""}), "JSONDecodeError"),
    "a deep result": (lambda files: files.update({RESULT: b"[" * 9**6}), "RecursionError"),
    "no results": (lambda files: files.update({RESULT: b"[]"}), "ValueError"),
    "a result that is REFUTED": (
        lambda files: files.update({RESULT: files[RESULT].replace(b"PROVED", b"REFUTED")}),
        "it does not say that each property is PROVED",
    ),
    "a result of less": (_other_properties, "it does not say that each property is PROVED"),
    "a result of another function": (_other_function, "it is of another function"),
    "a result of another variant": (_other_variant, "a certificate is of another variant"),
    "no certificate": (
        lambda files: [files.pop(name) for name in list(files) if name != RESULT],
        "SHA256SUMS is missing",
    ),
    "one file more": (lambda files: files.update({"x": b""}), "belong to no certificate"),
    "an obligation that says nothing": (_weaker, "is not what the model and the specification"),
    "a certificate of less": (
        _edit(f"{CERTIFICATE}index.json", b'"abi": "PROVED"', b'"abi": "UNKNOWN"'),
        "the obligations are not those that the theorem needs",
    ),
    "another specification": (
        _edit(f"{CERTIFICATE}index.json", b'"specs/chacha20.py": "', b'"specs/chacha20.py": "0'),
        "the specification is not the one in specs/",
    ),
    "other bytes": (
        _edit(f"{CERTIFICATE}{check.CODE}", b"\x00", b"\x01"),
        "code.bin is not the function that the index names",
    ),
    "a reading of which the claim is false": (_false, "by bitwuzla"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_wrong_in_an_entry_is_found(damage: str, tmp_path: Path) -> None:
    """Also where the seal is made anew, as anybody can who needs no secret for it."""
    made = filled(tmp_path)
    change, why = DAMAGE[damage]
    resealed(entry_of(made, tmp_path), b"", change)
    with pytest.raises(RefusedError) as refused:
        made.find(target_of(PROGRAM), FEW)
    assert why in str(refused.value)
    assert str(refused.value).startswith("cache entry ")
    assert str(refused.value).endswith("; proved anew")
    assert "\n" not in str(refused.value)


def test_every_file_is_sealed(tmp_path: Path) -> None:
    """One byte changed, one missing, and each file missing."""
    made = filled(tmp_path)
    entry = entry_of(made, tmp_path)
    names = sorted(check.load(entry))
    assert len(names) > 30
    for name in names:
        path = entry / name
        content = path.read_bytes()
        for changed in (content[:-1] + bytes([content[-1] ^ 1]), content[:-1], None):
            if changed is None:
                path.unlink()
            else:
                path.write_bytes(changed)
            with pytest.raises(RefusedError, match="its seal does not fit"):
                made.find(target_of(PROGRAM), FEW)
        path.write_bytes(content)
    assert made.find(target_of(PROGRAM), FEW) is not None


def test_an_entry_under_another_name_is_not_used(tmp_path: Path) -> None:
    made = filled(tmp_path)
    fault = target_of(FAULTY)
    entry_of(made, tmp_path).rename(tmp_path / made.key(fault, FEW))
    with pytest.raises(RefusedError, match="its seal does not fit"):
        made.find(fault, FEW)


def test_no_ordinary_file(tmp_path: Path) -> None:
    made = filled(tmp_path)
    result = entry_of(made, tmp_path) / RESULT
    result.rename(tmp_path / "elsewhere")
    result.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"result\.json is no ordinary file"):
        made.find(target_of(PROGRAM), FEW)


def forged_for_faulty(directory: Path, secret: bytes) -> tuple[ProofCache, Target]:
    """A cache in which the reading of good code is said to be that of a fault: what only somebody
    can make who knows the harness, and, to be believed, the secret."""
    made, fault = ProofCache(directory, secret, HARNESS), target_of(FAULTY)
    filled(directory)
    place = directory / made.key(fault, FEW)
    entry_of(made, directory).rename(place)

    def change(files: Files) -> None:
        document = json.loads(files[RESULT])
        index = json.loads(files[CERTIFICATE + check.INDEX])
        (result,) = document["results"]
        for about in (result["target"], index["target"], index["variant"], *result["variants"]):
            about["function_sha256"] = fault.function_sha256
        for about in (result["target"], index["target"]):
            about["address"] = f"{fault.function.address:#x}"
            about["size"] = fault.function.size
        files[RESULT] = dumps(document).encode()
        files[CERTIFICATE + check.INDEX] = check.dumps(index).encode()
        files[CERTIFICATE + check.CODE] = fault.function_bytes
        sums_again(files)

    resealed(place, b"", change)
    return made, fault


def test_a_forged_reading_is_what_the_caveat_speaks_of(tmp_path: Path) -> None:
    made, fault = forged_for_faulty(tmp_path, b"")
    kept = made.find(fault, FEW)
    assert kept is not None
    assert Caveat.READING_CACHED in kept.result.caveats


def test_a_forged_reading_needs_the_secret(tmp_path: Path) -> None:
    made, fault = forged_for_faulty(tmp_path, SECRET)
    with pytest.raises(RefusedError, match="its seal does not fit"):
        made.find(fault, FEW)


def test_what_is_not_used_is_replaced(tmp_path: Path) -> None:
    made = filled(tmp_path)
    (entry_of(made, tmp_path) / RESULT).write_text("damaged")
    for notes in (1, 0):
        listener = Notes()
        program = str(BINARIES / PROGRAM)
        (result,) = prove_files([program], None, FEW, listener, made).results
        assert result.verdict is Verdict.PROVED
        assert len(listener.notes) == notes
        assert (Caveat.READING_CACHED in result.caveats) == (notes == 0)
    assert [one.name for one in tmp_path.iterdir()] == [entry_of(made, tmp_path).name]


def test_a_cache_that_cannot_be_written_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    listener = Notes()
    made = ProofCache(tmp_path / "file/cache", harness=HARNESS)
    (result,) = prove_files([str(BINARIES / PROGRAM)], None, FEW, listener, made).results
    assert result.verdict is Verdict.PROVED
    assert len(listener.notes) == 1
    assert "not a directory; not kept" in listener.notes[0].lower()


def test_writers_at_the_same_time(tmp_path: Path) -> None:
    writers = 8
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda _: filled(tmp_path), range(4 * writers)))
    made = filled(tmp_path)
    assert made.find(target_of(PROGRAM), FEW) is not None
    assert [one.name for one in tmp_path.iterdir()] == [entry_of(made, tmp_path).name]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--both-lifters",), "a cache holds certificates, which are of one lifter"),
        ((), "is not a directory"),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "place"
    if not arguments:
        place.touch()
    program = str(BINARIES / "powerpc64le/looped.so")
    assert run([*ARGUMENTS, program, "--cache", str(place), *arguments]) == 2
    assert why in capsys.readouterr().err


def test_the_result_in_an_entry_is_that_of_the_proof(tmp_path: Path) -> None:
    """Without what is said of the cache, which is said anew each time."""
    made = filled(tmp_path)
    (stored,) = from_json(json.loads((entry_of(made, tmp_path) / RESULT).read_text())).results
    assert encode(stored) == encode(proof()[0])
