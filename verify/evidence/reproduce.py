"""Whether a certificate's model is what the code does: the certificate is made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verify.batch import targets_in
from verify.errors import InputError
from verify.evidence.certificate import certificates
from verify.evidence.check import INDEX, SUMS
from verify.options import Options
from verify.verdict import AS_RUNNING

if TYPE_CHECKING:
    from verify.prove.segments import Segments
    from verify.target import Target
    from verify.verdict import Result


def difference(index: Mapping[str, Any], files: Mapping[str, bytes], file: str) -> str:
    """Why a certificate is not the one of the function in a file, in one line; "" if it is.

    `files` are the certificate's without the list of hashes. Raises InputError.
    """
    function = f"{index['target']['address']}"
    for target in targets_in(file, function):
        if isinstance(target, InputError):
            raise target
        if target.image_sha256 != index["target"]["image_sha256"]:
            continue
        again = _again(index, target)
        return _first_difference(files, again)
    return f"{file} holds no image with SHA-256 {index['target']['image_sha256']}"


def _again(index: Mapping[str, Any], target: Target) -> dict[str, bytes]:
    """The certificate of the same variant, made anew."""
    from verify.lift.angr_import import import_angr

    import_angr()
    from verify.run import prove

    parts: list[tuple[Segments, Result]] = []
    about, variant = index["target"], index["variant"]
    named = replace(
        target,
        source=about["source"],
        path=tuple(about["path"]),
        function=replace(target.function, name=about["function"], located=about["located"]),
    )
    if variant["name"] == AS_RUNNING:
        # A copy of the memory in which the kernel has applied its alternatives.
        named = replace(named, running=True, alternatives=(), patching_unknown="", unusable="")
    options = Options(properties=tuple(index["verdicts"]))
    result = prove(named, options, certify=lambda *part: parts.append(part))
    made = certificates(result, parts)
    place = f"variant{variant['number']}/" if len(parts) > 1 else ""
    return {
        name.removeprefix(place): content
        for name, content in made.items()
        if name.startswith(place) and name != f"{place}{SUMS}"
    }


def _first_difference(files: Mapping[str, bytes], again: Mapping[str, bytes]) -> str:
    if files == again:
        return ""
    old, new = (json.loads(content[INDEX]) for content in (files, again))
    parts = [key for key in new if old.get(key) != new[key]]
    others = sorted(
        name
        for name in files.keys() | again.keys()
        if files.get(name) != again.get(name) and name != INDEX
    )
    return f"made again, it differs in {', '.join([*parts, *others][:4])}"
