"""What a proof is: the independent checker of certificates.

A certificate holds a *model* of one function (`verify.evidence.check_model`). Which obligations the
theorem needs, what each assumes and what discharges each assumption is worked out here, from the
model and from `specs/` and from nothing that the prover says. The obligations in the certificate
must be exactly these, and three solvers decide each. So a certificate that is accepted proves: if
the code does what the model says, the theorem holds. That the code does so is the lifter's claim;
`check --reproduce` makes the model again from the code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import specs
from verify.evidence.check_model import Model, Obligation, RefusedError
from verify.evidence.check_properties import CLEAN, PROPERTIES
from verify.evidence.check_solvers import answers
from verify.evidence.check_terms import conjunction, disjunction, parse, same, substitute

FORMAT = 1
INDEX, MODEL, CODE, SUMS = "index.json", "model.smt2", "code.bin", "SHA256SUMS"
SOURCES = ("chacha20.py", "contract.py")
"""The files of `specs/` that say what is proved."""
CAVEATS = frozenset({"regions-disjoint"})
"""What no certificate can do without."""
TRUSTED = {
    "lifting": "Each segment does what the model says, and nothing else: angr's lifter and "
    "interpreter, and this project's register file, memory and corrections read the instructions "
    "as the manual defines them. `vdso-verify check --reproduce FILE` makes the model again.",
    "entry": "At entry the arguments, the stack pointer and the return address are where the ABI "
    "says, and key and counter hold k0..k7 and count as the machine's 32-bit words.",
    "abi": "Which registers are preserved, reserved and scratch, and which part of the stack is "
    "the function's own (verify/arch).",
    "position-independent": "Addresses of code and constants move with the image: the prover lifts "
    "the image at two addresses and compares.",
    "variants": "The variants are all that the kernel makes of the function when it boots: its "
    "tables of alternatives are read as verify/image reads them.",
    "specification": "specs/chacha20.py and specs/contract.py say what is meant.",
    "checker": "verify/evidence/check*.py, Python, and that three solvers are not wrong together.",
}
"""What no obligation states: name to what is believed."""
_MOST_BYTES = 64 << 20
_DEPEND_ON_CLEAN = frozenset({"secrecy", "timing"})
_MALFORMED = (AttributeError, IndexError, KeyError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Decision:
    """An obligation and what each solver says of it, by the solver's package."""

    obligation: Obligation
    said: Mapping[str, str]

    @property
    def agreed(self) -> bool:
        """Whether every solver gives the answer that is claimed."""
        return set(self.said.values()) == {self.obligation.answer}

    @property
    def contradictory(self) -> bool:
        """Whether two solvers give opposite answers."""
        return {"sat", "unsat"} <= set(self.said.values())

    @property
    def refuted(self) -> bool:
        """Whether a solver gives the opposite answer."""
        return bool(set(self.said.values()) & {"sat", "unsat"} - {self.obligation.answer})


def induction(model: Model) -> Iterator[Obligation]:
    """That the paths are all there are and can be taken, and agree on what holds at the head.

    Every property rests on it. At the head the induction hypothesis is assumed for `index` blocks:
    `base` shows it for none, `step` for one more.
    """
    given = (*model.contract,)
    yield Obligation(
        "assumptions/contract", "a call can meet the contract", (), given, answer="sat"
    )
    for begin in dict.fromkeys(segment["begin"] for segment in model.segments):
        leaving = [segment for segment in model.segments if segment["begin"] == begin]
        paths = [conjunction(model.nodes[t] for _, t in segment["guards"]) for segment in leaving]
        branches = [instruction for segment in leaving for instruction, _ in segment["guards"]]
        unguarded = {**leaving[0], "guards": []}
        claim = f"from the {begin} one of {len(paths)} paths is taken"
        covered = disjunction(paths)
        one = model.claim(f"coverage/{begin}", claim, unguarded, [covered], branches)
        yield replace(one, assumes=one.assumes[:-1])
    for segment in (one for one in model.segments if one["end"] != "never"):
        name = segment["name"]
        path = model.claim(f"assumptions/{name}", f"{name}: the path can be taken", segment, [])
        yield replace(path, answer="sat", assumes=())
    for segment in model.segments:
        found = segment["accesses"]
        yield model.claim(
            f"place/{segment['name']}",
            f"{segment['name']}: all {len(found)} accesses are in the regions and at the offsets "
            "named",
            segment,
            [same(model.nodes[a["address"]], model.place(segment, a)) for a in found],
            [access["instruction"] for access in found],
        )
    for _, segment in model.ending("head"):
        base = segment["begin"] == "entry"
        stated = [model.nodes[term] for *_, term in model.head["state"]]
        expected = substitute([*model.facts, *stated], model.witness(segment))
        facts, wanted = expected[: len(model.facts)], expected[len(model.facts) :]
        reached = [model.nodes[term] for term in segment["state"]]
        agree = [same(a, b) for a, b in zip(wanted, reached, strict=True) if a is not b]
        yield model.claim(
            f"induction/{'base' if base else 'step'}/{segment['name']}",
            f"what holds at the head of the block loop ({len(stated)} locations) holds "
            + ("at the first arrival" if base else "again after a pass"),
            segment,
            [*facts, *agree],
            [model.head["address"]],
        )


def clean(model: Model) -> Iterator[Obligation]:
    """What is said not to depend on a secret at the head: it did not when it arrived there."""
    for _, segment in model.ending("head"):
        arriving = model.witness(segment)
        yield model.claim(
            f"clean/{segment['name']}",
            f"{segment['name']}: what is said to be clean at the head is so on arrival",
            segment,
            [model.independent(arriving[node]) for node in model.unknown if node in model.clean],
            besides=CLEAN,
        )


def obligations(model: Model, properties: Iterable[str]) -> list[Obligation]:
    """All that has to be decided for these properties."""
    chosen = [name for name in PROPERTIES if name in set(properties)]
    found = list(induction(model))
    if _DEPEND_ON_CLEAN & set(chosen):
        found += clean(model)
    for name in chosen:
        found += PROPERTIES[name](model)
    if len({one.file for one in found}) < len(found):
        raise RefusedError("two obligations have one name")
    return found


def composition(model: Model, found: Sequence[Obligation]) -> dict[str, Any]:
    """How the obligations make the theorem: which segments enter and leave each cut point, and
    which obligations discharge what the others assume."""

    def named(*prefixes: str) -> list[str]:
        return [one.id for one in found if one.id.startswith(prefixes)]

    def cut(point: str, side: str) -> list[str]:
        return [segment["name"] for segment in model.segments if segment[side] == point]

    points = ("entry", "head", "exit", "never") if model.head else ("entry", "exit", "never")
    return {
        "cut_points": {
            p: {"entered_by": cut(p, "end"), "left_by": cut(p, "begin")} for p in points
        },
        "assumptions": {
            "contract": {"established_by": ["the caller"], "well_founded_by": ""},
            "path": {"established_by": named("coverage/"), "well_founded_by": ""},
            "head": {"established_by": named("induction/"), "well_founded_by": "index"},
            CLEAN: {"established_by": named("clean/"), "well_founded_by": "index"},
            "words": {"established_by": named("output/word"), "well_founded_by": "their order"},
        },
    }


def entries(found: Sequence[Obligation]) -> list[dict[str, Any]]:
    """What the index says of the obligations."""
    return [
        {
            "id": one.id,
            "claim": one.claim,
            "file": one.file,
            "answer": one.answer,
            "assumes": list(one.assumes),
            "instances": one.instances,
            "instructions": list(one.instructions),
        }
        for one in found
    ]


def texts(found: Sequence[Obligation]) -> dict[str, str]:
    """File name to content of every obligation."""
    return {
        one.file: f"; {one.id}\n; {one.claim}\n(set-info :status {one.answer})\n{one.question}"
        for one in found
    }


def dumps(index: Mapping[str, Any]) -> str:
    """The one way to write an index: lists of nothing but values stay on one line."""
    text = json.dumps(index, indent=1, allow_nan=False) + "\n"
    return re.sub(
        r"\[\s+([^][{}]*?)\s+\]", lambda m: f"[{re.sub(chr(92) + 's+', ' ', m[1])}]", text
    )


def specification() -> dict[str, str]:
    """Name to SHA-256 of the sources that say what is proved."""
    directory = Path(str(specs.__file__)).parent
    return {
        f"specs/{name}": hashlib.sha256((directory / name).read_bytes()).hexdigest()
        for name in SOURCES
    }


def read(directory: Path) -> dict[str, bytes]:
    """The files of the certificate in a directory, without the list of them; RefusedError."""
    return listed(load(directory))


def load(directory: Path) -> dict[str, bytes]:
    """Name to content of all files below a directory, which are ordinary ones; RefusedError."""
    found: dict[str, bytes] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise RefusedError(f"{path.name} is no ordinary file")
        if path.is_file():
            if path.stat().st_size > _MOST_BYTES:
                raise RefusedError(f"{path.name} is larger than {_MOST_BYTES >> 20} MiB")
            found[path.relative_to(directory).as_posix()] = path.read_bytes()
    return found


def listed(found: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files but for the list, if they are those that it lists, with the hashes that it lists.

    Raises RefusedError.
    """
    files = dict(found)
    stated = files.pop(SUMS, None)
    if stated is None:
        raise RefusedError(f"{SUMS} is missing")
    if stated != sums(files):
        raise RefusedError(f"the files are not those that {SUMS} lists")
    return files


def sums(files: Mapping[str, bytes]) -> bytes:
    """The list of all hashes, in the format of sha256sum."""
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    return "".join(lines).encode()


def examine(files: Mapping[str, bytes]) -> tuple[dict[str, Any], list[Obligation]]:
    """The index and the obligations of a certificate whose parts fit together; RefusedError."""
    try:
        text = {name: data.decode() for name, data in files.items() if name != CODE}
        index = json.loads(text.pop(INDEX))
        if dumps(index) != files[INDEX].decode():
            raise RefusedError(f"{INDEX} is not written in the one way there is")
        if index["format"] != FORMAT:
            raise RefusedError(f"format {index['format']}, not {FORMAT}")
        _check_subject(index, files[CODE])
        proved = [name for name, verdict in index["verdicts"].items() if verdict == "PROVED"]
        if not proved or not set(index["verdicts"]) <= set(PROPERTIES):
            raise RefusedError("no property is proved, or one is not known")
        model = Model(index, parse(text.pop(MODEL)))
        found = obligations(model, proved)
        if index["obligations"] != entries(found):
            raise RefusedError("the obligations are not those that the theorem needs")
        if index["composition"] != composition(model, found):
            raise RefusedError("the obligations are not composed as the theorem needs")
    except RefusedError:
        raise
    except _MALFORMED as error:
        raise RefusedError(f"malformed ({type(error).__name__}: {error})") from None
    wanted = texts(found)
    for name in sorted(wanted.keys() | text.keys()):
        if wanted.get(name) != text.get(name):
            raise RefusedError(f"{name} is not what the model and the specification make it")
    return index, found


def _check_subject(index: Mapping[str, Any], code: bytes) -> None:
    """The index speaks of this specification and these bytes, and names its caveats."""
    if index["specification"] != specification():
        raise RefusedError("the specification is not the one in specs/")
    target = index["target"]
    if (index["variant"]["function_sha256"], target["size"]) != (
        hashlib.sha256(code).hexdigest(),
        len(code),
    ):
        raise RefusedError(f"{CODE} is not the function that the index names")
    first = int(target["address"], 16)
    segments = index["model"]["segments"]
    used = {access["instruction"] for segment in segments for access in segment["accesses"]}
    if any(not first <= int(address, 16) < first + len(code) for address in used):
        raise RefusedError(f"an instruction lies outside of {CODE}")
    if index["trusted"] != TRUSTED or not set(index["caveats"]) >= CAVEATS:
        raise RefusedError("a caveat, or something trusted, that every proof rests on is missing")


def decide(
    found: Sequence[Obligation],
    jobs: int = 2,
    ask: Callable[[str], Mapping[str, str]] = answers,
) -> Iterator[Decision]:
    """What the solvers say of each obligation, in order; each question is asked once."""
    questions = list(dict.fromkeys(one.question for one in found))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        said = dict(zip(questions, pool.map(ask, questions, chunksize=4), strict=True))
    for one in found:
        yield Decision(one, said[one.question])
