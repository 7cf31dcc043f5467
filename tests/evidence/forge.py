"""Certificates, honest and forged.

A forger who can compute hashes seals the changed files anew; one who has the checker, too, works
out the obligations again, so that everything fits together.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tests.proving import target_of
from verify.evidence import check
from verify.evidence.certificate import certificates
from verify.evidence.check_abi import check_abi
from verify.evidence.check_model import Model, RefusedError
from verify.evidence.check_solvers import SOLVERS
from verify.evidence.check_terms import parse
from verify.lift.angr_import import import_angr
from verify.options import PROPERTIES, Options

SECONDS = 2
"""What a solver gets for a question in tests, where many cannot be answered as claimed."""
Files = Mapping[str, bytes]
Edit = Callable[[dict[str, Any]], object]


@cache
def certificate_of(program: str, properties: tuple[str, ...] = PROPERTIES) -> Files:
    """The files of the certificate of a program below `binaries`, without the list of hashes."""
    import_angr()
    from verify.run import prove

    parts: list[Any] = []
    options = Options(properties, replay=False)
    result = prove(target_of(program), options, certify=lambda *part: parts.append(part))
    files = certificates(result, parts)
    return {name: content for name, content in files.items() if name != check.SUMS}


@cache
def index_of(program: str, properties: tuple[str, ...] = PROPERTIES) -> dict[str, Any]:
    """Its index, not to be changed."""
    index: dict[str, Any] = json.loads(certificate_of(program, properties)[check.INDEX])
    return index


def edited(files: Files, edit: Edit) -> Files:
    """The index changed, and nothing else."""
    index = json.loads(files[check.INDEX])
    edit(index)
    return {**files, check.INDEX: check.dumps(index).encode()}


def forged(files: Files, edit: Edit, model: str = "") -> Files:
    """The index changed (and the model, if one is given), and all that follows worked out again;
    what cannot be worked out stays as it was."""
    index = copy.deepcopy(json.loads(files[check.INDEX]))
    text = model or files[check.MODEL].decode()
    edit(index)
    kept = {name: files[name] for name in (check.CODE,)}
    try:
        proved = [name for name, verdict in index["verdicts"].items() if verdict == "PROVED"]
        parsed = Model(index, parse(text))
        found = check.obligations(parsed, proved)
    except (RefusedError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return {
            **files,
            check.MODEL: text.encode(),
            check.INDEX: check.dumps(index).encode(),
        }
    index["composition"] = check.composition(parsed, found)
    index["obligations"] = check.entries(found)
    texts = {name: content.encode() for name, content in check.texts(found).items()}
    return {
        **kept,
        **texts,
        check.MODEL: text.encode(),
        check.INDEX: check.dumps(index).encode(),
    }


@cache
def _honest_questions(program: str, properties: tuple[str, ...]) -> frozenset[str]:
    _, found = check.examine(certificate_of(program, properties))
    return frozenset(one.question for one in found)


def refusal(files: Files, program: str = "", properties: tuple[str, ...] = PROPERTIES) -> str:
    """Why a certificate is refused; "" if it is accepted. Obligations of the honest certificate of
    `program` are not decided again."""
    known = _honest_questions(program, properties) if program else frozenset()
    try:
        index, found = check.examine(files)
        check_abi(index)
    except RefusedError as error:
        return str(error)
    for one in found:
        for name, solve in SOLVERS.items() if one.question not in known else ():
            if (said := solve(one.question, SECONDS)) != one.answer:
                return f"{one.id}: {said} by {name}"
    return ""
