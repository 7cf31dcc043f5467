"""Proofs that earlier runs kept, so that only what changed is proved again.

An entry is a directory, named by its key: the result, the certificate of each variant, and a seal.
The key is a hash of all that a verdict depends on. An entry is never believed for its name or its
seal: a verdict is taken from it only if its certificates are of the very bytes at hand, state the
theorem for each property asked for, and if each of their obligations is decided anew, by another
solver than the prover's. What no certificate can show, that the model in it is what the code does,
is the caveat `reading-cached`.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import platform
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any

import specs
import verify
from verify.combine import variant_summary
from verify.errors import printable
from verify.errors import reason as reason_of
from verify.evidence import check
from verify.evidence.check_abi import check_abi
from verify.evidence.check_model import Obligation, RefusedError
from verify.evidence.check_solvers import SECONDS, SOLVERS
from verify.options import Options
from verify.resultjson import Outcome, dumps, encode, from_json, to_json
from verify.summary import target_summary
from verify.target import Target, Variant
from verify.verdict import Caveat, Result, Verdict

FORMAT = 1
"""Version of the layout of an entry; part of the key."""
SOLVER = "bitwuzla"
"""The solver that decides the obligations again: not the prover's, and the fastest other."""
RESULT, SEAL, CERTIFICATE = "result.json", "SEAL", "certificate/"
PACKAGES = (
    "angr",
    "archinfo",
    "bitwuzla",
    "capstone",
    "networkx",
    "pypcode",
    "pyvex",
    "z3-solver",
)
"""What reads code, and decides."""
_SHOWN = 12
"""Digits of a key that messages show."""


@dataclass(frozen=True)
class Kept:
    """A proof from the cache: its result, and the certificate of each variant by its directory, as
    its index and its files."""

    result: Result
    parts: Mapping[str, tuple[Mapping[str, Any], Mapping[str, bytes]]]

    def certificates(self) -> dict[str, bytes]:
        """File name to content of the certificates, as a proof would write them now."""
        target = encode(self.result.target) | {"source": PurePath(self.result.target.source).name}
        found: dict[str, bytes] = {}
        for place, (index, contents) in self.parts.items():
            named = check.dumps({**index, "target": target}).encode()
            files = {**contents, check.INDEX: named}
            files[check.SUMS] = check.sums(files)
            found |= {place + name: content for name, content in files.items()}
        return found


def hash_of(packages: Mapping[str, Path]) -> str:
    """A hash of the names and contents of all files of packages, by name, in hexadecimal."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}/{path.relative_to(top)}\n"
        for name, top in packages.items()
        for path in sorted(top.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def harness() -> Mapping[str, str]:
    """The version of the harness, to the byte: `specs` and `verify`, the record of the lifter's
    comparison with QEMU among it, and what it runs on."""
    packages = {one.__name__: Path(str(one.__file__)).parent for one in (specs, verify)}
    return {
        "sources": hash_of(packages),
        "python": platform.python_version(),
        # VEX looks at the processor that it runs on.
        "machine": platform.machine(),
        **{package: version(package) for package in PACKAGES},
    }


def key_of(target: Target, options: Options, harness: Mapping[str, str]) -> str:
    """The key of a proof, in hexadecimal: a hash of all that its verdicts depend on.

    All read-only bytes of the image count, since code goes on in other sections and reads constants
    there; what the image is called and where it was found does not.
    """
    function = target.function
    depends = {
        "format": FORMAT,
        "harness": dict(harness),
        "specification": check.specification(),
        "options": [options.properties, options.budget, options.timeout, options.both_lifters],
        "contract": [options.contract.value, options.page_bytes, options.data_page, options.linux],
        "linux": target.linux_version,
        "architecture": target.architecture.name,
        "lifter": repr(target.architecture.lifter),
        "function": [function.address, function.size, function.toc],
        "callee": repr(target.callee),
        "left out": [repr(one) for one in target.left_out],
        "bytes": [
            [one.address, one.executable, hashlib.sha256(one.data).hexdigest()]
            for one in target.segments
        ],
        "alternatives": [repr(one) for one in target.alternatives],
        "patching": [target.patching_unknown, target.unusable, target.running],
        "relocations": [repr(one) for one in target.relocations],
        "stubs": [repr(one) for one in target.stubs],
    }
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()


class ProofCache:
    """The proofs in a directory, which need not exist.

    `secret` makes seals that nobody without it can make; without one they show accidents only.
    """

    def __init__(
        self, directory: Path, secret: bytes = b"", harness: Mapping[str, str] | None = None
    ) -> None:
        self._directory = directory
        self._secret = secret
        self._harness = harness

    def key(self, target: Target, options: Options) -> str:
        """The key of a proof by this version of the harness."""
        return key_of(target, options, harness() if self._harness is None else self._harness)

    def find(self, target: Target, options: Options) -> Kept | None:
        """The proof of a target, checked again, or None where there is none.

        Raises RefusedError where there is one that cannot be used.
        """
        start = time.perf_counter()
        key = self.key(target, options)
        place = self._directory / key
        if not place.is_dir():
            return None
        try:
            kept = self._checked(key, check.load(place), target, options)
        except RefusedError as error:
            raise RefusedError(_message(key, str(error))) from None
        except Exception as error:  # noqa: BLE001  # whatever an entry holds, it only costs a proof
            why = printable(f"{type(error).__name__}: {error}")
            raise RefusedError(_message(key, why)) from None
        return replace(kept, result=replace(kept.result, seconds=time.perf_counter() - start))

    def keep(
        self, target: Target, options: Options, result: Result, certificates: Mapping[str, bytes]
    ) -> None:
        """Keep a proof in place of what is there; does nothing unless all is PROVED.

        Several processes may keep one at once: an entry takes its name when it is complete. Raises
        RefusedError where it cannot be written.
        """
        if result.verdict is not Verdict.PROVED:
            return
        key = self.key(target, options)
        files = {f"{CERTIFICATE}{name}": content for name, content in certificates.items()}
        files[RESULT] = dumps(to_json(Outcome((result,)))).encode()
        files[SEAL] = self._seal(key, files)
        try:
            self._write(self._directory / key, files)
        except OSError as error:
            raise RefusedError(f"cache {self._directory}: {reason_of(error)}; not kept") from None

    def _write(self, place: Path, files: Mapping[str, bytes]) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".incomplete-", dir=self._directory, ignore_cleanup_errors=True
        ) as temporary:
            complete = Path(temporary) / "entry"
            for name, content in files.items():
                path = complete / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            # Another process may do all this at the same moment, with the same content.
            with suppress(FileNotFoundError):
                place.rename(Path(temporary) / "former")
            try:
                complete.rename(place)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise

    def _seal(self, key: str, files: Mapping[str, bytes]) -> bytes:
        message = key.encode() + b"\n" + check.sums(files)
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest().encode()

    def _checked(self, key: str, files: dict[str, bytes], target: Target, options: Options) -> Kept:
        """The proof in the files of an entry; raises what hostile files make raise."""
        seal = files.pop(SEAL, b"")
        if not hmac.compare_digest(seal, self._seal(key, files)):
            raise RefusedError("its seal does not fit")
        result = _result(files.pop(RESULT), target, options)
        parts: dict[str, tuple[Mapping[str, Any], Mapping[str, bytes]]] = {}
        decided = 0
        for number in range(1, len(result.variants) + 1):
            place = f"variant{number}/" if len(result.variants) > 1 else ""
            contents = check.listed(_taken(files, CERTIFICATE + place))
            index, found = check.examine(contents)
            check_abi(index)
            _compare(index, contents[check.CODE], result, number, target)
            decided += _decide_again(found)
            parts[place] = index, contents
        if files:
            raise RefusedError("it has files that belong to no certificate")
        solver = version(SOLVER)
        finding = (
            f"from the proof cache: {decided} obligations of certificate {key[:_SHOWN]} decided"
            f" again by {SOLVER} {solver}; times are those of the proof"
        )
        shown = replace(
            result,
            findings=(*result.findings, finding),
            caveats=(*result.caveats, Caveat.READING_CACHED),
            tools={**result.tools, SOLVER: solver},
        )
        return Kept(shown, parts)


def _message(key: str, why: str) -> str:
    return f"cache entry {key[:_SHOWN]} is not used ({why}); proved anew"


def _taken(files: dict[str, bytes], place: str) -> dict[str, bytes]:
    """The files below a directory, which are taken out."""
    names = [name for name in files if name.startswith(place)]
    return {name.removeprefix(place): files.pop(name) for name in names}


def _result(text: bytes, target: Target, options: Options) -> Result:
    """The result in an entry, of the target as it is called now."""
    (result,) = from_json(json.loads(text)).results
    stated = {one.property: one.verdict for one in result.properties}
    if tuple(stated) != options.properties or set(stated.values()) != {Verdict.PROVED}:
        raise RefusedError("it does not say that each property is PROVED")
    if not result.variants:
        raise RefusedError("it names no variant")
    now = target_summary(target, None)
    same = ("architecture", "address", "size", "function_sha256")
    if any(getattr(result.target, name) != getattr(now, name) for name in same):
        raise RefusedError("it is of another function")
    return replace(result, target=now)


def _compare(
    index: Mapping[str, Any], code: bytes, result: Result, number: int, target: Target
) -> None:
    """Whether a certificate is of the target's bytes in the `number`-th variant of the result, and
    says that all properties of the result are PROVED."""
    stated = result.variants[number - 1]
    patches = {(one.address, one.code, one.condition) for one in stated.patches}
    applied = tuple(
        one
        for one in target.alternatives
        if (one.address, one.code.hex(), str(one.condition)) in patches
    )
    variant = Variant(applied)
    made = replace(variant_summary(target, variant, target.function.size), verdicts=stated.verdicts)
    about = {"number": number, "of": len(result.variants), **encode(made)}
    del about["verdicts"]
    if stated != made or index["variant"] != about:
        raise RefusedError("a certificate is of another variant")
    address = int(index["target"]["address"], 16)
    if (address, code) != (target.function.address, target.patched(variant).function_bytes):
        raise RefusedError("a certificate is of other bytes")
    proved = {one.property: Verdict.PROVED.value for one in result.properties}
    if index["verdicts"] != proved:
        raise RefusedError("a certificate is of other properties")


def _decide_again(found: list[Obligation]) -> int:
    """Decide obligations; their number. Raises RefusedError where one is not as claimed."""
    answers: dict[str, str] = {}
    for one in found:
        question = one.question
        if question not in answers:
            answers[question] = SOLVERS[SOLVER](question, SECONDS)
        if answers[question] != one.answer:
            raise RefusedError(f"{one.id}: {answers[question]} by {SOLVER}")
    return len(found)
