"""Certificates by a forger who computes everything anew are refused, unless the lifter's reading
itself was replaced by that of other code: that, only making the certificate again shows."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from binaries.patches import load
from tests.evidence.forge import (
    Edit,
    Files,
    certificate_of,
    edited,
    forged,
    index_of,
    refusal,
)
from tests.proving import BINARIES, PROGRAMS
from verify.errors import InputError
from verify.evidence import check
from verify.evidence.reproduce import difference

PROGRAM = "loongarch64/looped.so"
FEW = ("counter", "footprint", "stack", "abi", "timing", "termination")
"""Without the many obligations of `output` and `secrecy`."""
SAMPLE = (
    ("loongarch64", "counter-not-written", "counter"),
    ("loongarch64", "key-read-after-overwrite", "output"),
    ("loongarch64", "key-word-spilled", "secrecy"),
    ("loongarch64", "read-past-key", "footprint"),
    ("loongarch64", "register-not-restored", "abi"),
    ("loongarch64", "reserved-register-used", "abi"),
    ("loongarch64", "saves-before-frame", "stack"),
    ("loongarch64", "stale-register-on-stack", "stack"),
    ("loongarch64", "table-look-up", "timing"),
)
"""Faults with what they break that are claimed in every run; all others only in long ones."""


def few() -> Files:
    return certificate_of(PROGRAM, FEW)


def segment(index: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in index["model"]["segments"] if one["name"] == name)
    assert isinstance(found, dict)
    return found


def refused(files: Files, properties: tuple[str, ...] = FEW) -> bool:
    return refusal(files, PROGRAM, properties) != ""


def test_honest_certificate_is_accepted() -> None:
    assert refusal(few()) == ""
    assert forged(few(), lambda index: None) == few()


def obligations() -> list[dict[str, Any]]:
    found = index_of(PROGRAM, FEW)["obligations"]
    assert len(found) > 40
    return list(found)


def _without_obligation(entry: dict[str, Any]) -> Edit:
    return lambda index: index["obligations"].remove(entry)


def test_missing_obligation() -> None:
    for entry in obligations():
        files = {name: content for name, content in few().items() if name != entry["file"]}
        assert refused(files)
        assert refused(edited(files, _without_obligation(entry)))


def test_swapped_obligations() -> None:
    generator = random.Random(0)
    for _ in range(40):
        one, other = generator.sample([entry["file"] for entry in obligations()], 2)
        assert refused({**few(), one: few()[other], other: few()[one]})


def test_changed_assumption() -> None:
    """An assumption left out, one that contradicts added, and a claim that says nothing."""
    for entry in obligations():
        text = few()[entry["file"]].decode()
        for changed in (
            re.sub(r"\(assert .*\)\n", "", text, count=1),
            text.replace("(check-sat)", "(assert false)\n(check-sat)"),
            re.sub(r"\(assert (\w+)\)\n\(check-sat\)", "(assert false)\n(check-sat)", text),
        ):
            assert changed != text
            assert refused({**few(), entry["file"]: changed.encode()})


def _without_segment(name: str) -> Edit:
    return lambda index: index["model"]["segments"].remove(segment(index, name))


def _without_head(index: dict[str, Any]) -> None:
    """The induction is left out: the function has no block loop."""
    index["model"]["head"] = None
    for name in ("entry-to-head", "head-to-head"):
        _without_segment(name)(index)
    segment(index, "head-to-exit")["begin"] = "entry"


def _only_one_block(index: dict[str, Any]) -> None:
    """As before, but for the variables that are known at the head only."""
    _without_head(index)
    index["model"]["segments"][0]["guards"] = []


def _head(key: str, value: object) -> Edit:
    return lambda index: index["model"]["head"].update({key: value})


def _in(name: str, key: str, value: object) -> Edit:
    return lambda index: segment(index, name).update({key: value})


def _all_clean(index: dict[str, Any]) -> None:
    for one in index["model"]["head"]["unknown"]:
        one["clean"] = True


def _access(name: str, kind: str, region: str, /, **changes: object) -> Edit:
    def edit(index: dict[str, Any]) -> None:
        found = [
            access
            for access in segment(index, name)["accesses"]
            if (access["kind"], access["region"]) == (kind, region)
        ]
        found[0].update(changes)

    return edit


def _register(register: str, other: str) -> Edit:
    def edit(index: dict[str, Any]) -> None:
        registers = segment(index, "head-to-exit")["registers"]
        registers[register] = registers[other]

    return edit


def _state(position: int) -> Edit:
    """A pass is said to leave in a location, of which something is known, what is in another."""

    def edit(index: dict[str, Any]) -> None:
        head, state = index["model"]["head"], segment(index, "head-to-head")["state"]
        unknown = {one["location"] for one in head["unknown"]}
        known = [place for place in range(len(state)) if place not in unknown]
        values = [state[place] for place in known if state[place] != state[known[position]]]
        state[known[position]] = values[position % len(values)]

    return edit


def _abi(key: str, change: Callable[[Any], Any]) -> Edit:
    return lambda index: index["abi"].update({key: change(index["abi"][key])})


def _rename(text: str, new: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda names: {new if name == text else name: term for name, term in names.items()}


def _without(name: str) -> Callable[[Any], Any]:
    return lambda old: (
        {key: old[key] for key in old if key != name}
        if isinstance(old, dict)
        else [one for one in old if one != name]
    )


FORGERIES: dict[str, Edit] = {
    "no way out": _without_segment("head-to-exit"),
    "no way back": _without_segment("head-to-head"),
    "no way in": _without_segment("entry-to-head"),
    "no cut point": _without_head,
    "no cut point and no guards": _only_one_block,
    "two segments of one name": lambda index: index["model"]["segments"].append(
        segment(index, "head-to-head")
    ),
    "ends elsewhere": _in("head-to-head", "end", "loop"),
    "never ends": _in("head-to-exit", "end", "never"),
    "begins elsewhere": _in("head-to-exit", "begin", "entry"),
    "weaker bound": _head("bound", "bvule"),
    "no bound": _head("bound", "="),
    "fewer locations": _head("state", []),
    "no witness": _head("unknown", []),
    "no guards": _in("head-to-exit", "guards", []),
    "no guards on the way back": _in("head-to-head", "guards", []),
    "other guards": lambda index: segment(index, "head-to-head").update(
        guards=segment(index, "head-to-exit")["guards"]
    ),
    "guards of false": _in("head-to-exit", "guards", [["0x0", "false"]]),
    "returns elsewhere": lambda index: segment(index, "head-to-exit").update(
        target=segment(index, "head-to-exit")["registers"]["a0"]
    ),
    "returns nowhere": _in("head-to-exit", "target", None),
    "store to the key": _access("head-to-head", "write", "dst", region="key"),
    "store to the stack": _access("head-to-head", "write", "dst", region="stack"),
    "store to the counter": _access("head-to-head", "write", "dst", region="counter"),
    "store to code": _access("head-to-head", "write", "dst", region="code"),
    "store in front": _access("head-to-head", "write", "dst", offset=-4),
    "store somewhere else": _access("head-to-head", "write", "dst", offset=8),
    "long store to the counter": _access("head-to-exit", "write", "counter", size=64),
    "long read of the key": _access("entry-to-head", "read", "key", size=64),
    "long store to the stack": _access("entry-to-head", "write", "stack", size=512),
    "stack pointer of another time": _access(
        "entry-to-head", "write", "stack", stack_pointer="(_ bv0 64)"
    ),
    "secret on the stack": _access("entry-to-head", "write", "stack", value="|k0|"),
    "secret address": _access("entry-to-head", "read", "key", address="|k0|"),
    "reserved register written": lambda index: segment(index, "head-to-head")["written"].append(
        "tp"
    ),
    "reserved register called something else": _abi("reserved", _rename("tp", "a0")),
    "preserved register forgotten": _abi("preserved", _without("s0")),
    "preserved register compared with another": lambda index: index["abi"]["preserved"].update(
        s0=index["abi"]["preserved"]["s1"]
    ),
    "stack pointer compared with another": lambda index: index["abi"]["preserved"].update(
        sp=index["abi"]["preserved"]["s1"]
    ),
    "scratch register forgotten": _abi("scratch", _without("a0")),
    "red zone": _abi("red_zone", lambda old: old + 4096),
    "linkage area": _abi("linkage_area", lambda old: [*old, [0, 4096]]),
    "another width of pointers": _abi("pointer_bits", lambda old: 96 - old),
    "another byte order": _abi("byte_order", lambda old: "big"),
    "another stack pointer": _abi("stack_pointer", lambda old: "s0"),
    "another alignment": _abi("return_alignment", lambda old: 2 * old),
    "another architecture": _abi("architecture", lambda old: "x86_64"),
    "unknown architecture": _abi("architecture", lambda old: "vax"),
    "no property": lambda index: index.update(verdicts={}),
    "unknown property": lambda index: index["verdicts"].update(everything="PROVED"),
    "nothing trusted": lambda index: index.update(trusted={}),
    "no caveats": lambda index: index.update(caveats=[]),
    "another specification": lambda index: index["specification"].update(
        {"specs/chacha20.py": "0" * 64}
    ),
    "another format": lambda index: index.update(format=2),
    "another function": lambda index: index["variant"].update(function_sha256="0" * 64),
    "another address": lambda index: index["target"].update(address="0x10"),
    **{f"register {n}": _register(f"s{n}", f"s{n + 1}") for n in range(8)},
    **{f"location {n}": _state(n) for n in range(12)},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery(name: str) -> None:
    files = forged(few(), FORGERIES[name])
    assert files != few()
    assert refused(files)


@pytest.mark.parametrize(
    ("changed", "by"),
    [
        ("(declare-const |k0| (_ BitVec 32))", "(declare-const |init_k0| (_ BitVec 32))"),
        ("|k0|", "|k1|"),
        ("|nblocks|", "|nblocks'|"),
        ("|count|", "|block_count|"),
        ("|index|", "|init_index|"),
        ("|sp|", "|init_sp|"),
        ("bvadd", "bvsub"),
        ("(_ BitVec 64)", "(_ BitVec 32)"),
        ("(_ extract 31 0)", "(_ extract 32 0)"),
        ("rotate_left", "ext_rotate_left"),
        ("(define-fun t1 ", "(define-fun t0 "),
        ("(define-fun", "(assert true) (define-fun"),
    ],
)
def test_changed_model(changed: str, by: str) -> None:
    text = few()[check.MODEL].decode()
    assert changed in text
    assert refused(forged(few(), lambda index: None, text.replace(changed, by)))


def _everywhere(edit: Callable[[list[Any]], object]) -> Edit:
    def edit_all(index: dict[str, Any]) -> None:
        for one in index["model"]["segments"]:
            if one["words"]:
                edit(one["words"])

    return edit_all


@pytest.mark.parametrize(
    "edit",
    [
        _everywhere(lambda words: words[100].__setitem__(3, words[100][3] + 1)),
        _everywhere(lambda words: words[100].__setitem__(2, 1)),
        _everywhere(lambda words: words.append(words[0])),
        lambda index: segment(index, "head-to-head")["memory"].pop(),
        lambda index: [one.__setitem__(1, "(_ bv0 64)") for one in _dst_cells(index)],
        lambda index: [
            one.__setitem__(4, other[4])
            for one, other in zip(_dst_cells(index), _dst_cells(index)[1:], strict=False)
        ],
    ],
    ids=["word", "lane", "twice", "byte", "block", "order"],
)
def test_forged_words(edit: Edit) -> None:
    properties = ("output",)
    files = certificate_of(PROGRAM, properties)
    again = forged(files, edit)
    assert again != files
    assert refused(again, properties)


def _dst_cells(index: dict[str, Any]) -> list[list[Any]]:
    return [cell for cell in segment(index, "head-to-head")["memory"] if cell[0] == "dst"]


def test_dirty_values_called_clean() -> None:
    """Key material is in a location of which nothing is known at the head."""
    program, properties = "powerpc64le/unrolled.so", ("secrecy", "timing")
    files = certificate_of(program, properties)

    def edit(index: dict[str, Any]) -> None:
        unknown = index["model"]["head"]["unknown"]
        assert not all(one["clean"] for one in unknown)
        _all_clean(index)

    assert refusal(forged(files, edit), program, properties)


def _claims(name: str) -> Edit:
    return lambda index: index["verdicts"].update({name: "PROVED"})


@pytest.mark.parametrize(
    ("program", "broken"),
    [
        pytest.param(
            f"faults/{fault.architecture}/{fault.name}.so",
            name,
            marks=() if (fault.architecture, fault.name, name) in SAMPLE else pytest.mark.long,
        )
        for fault in load(BINARIES)
        for name in fault.refuted_by
    ],
)
def test_faults_cannot_be_certified(program: str, broken: str) -> None:
    """What a faulty program breaks cannot be claimed of it."""
    properties = ("termination", broken) if broken != "termination" else ("abi", broken)
    try:
        files = certificate_of(program, properties)
    except InputError:
        return  # nothing of it can be certified
    assert index_of(program, properties)["verdicts"][broken] != "PROVED"
    assert refusal(forged(files, _claims(broken)), program, properties)


LIES: dict[str, Edit] = {
    "a store is left out": lambda index: segment(index, "head-to-head")["accesses"].pop(),
    "other text": lambda index: index["disassembly"].clear(),
    "another file": lambda index: index["target"].update(sha256="0" * 64),
    "another tool": lambda index: index["tools"].update(angr="0"),
    "more may be read": lambda index: index["model"]["readable"].append(["0x0", 1]),
}
"""What the checker cannot know."""


@pytest.mark.parametrize("name", LIES)
def test_made_again(name: str) -> None:
    """A lie about what the code does fits together, and is found when it is made again."""
    files = forged(few(), LIES[name])
    assert not refused(files)
    index = check.examine(files)[0]
    assert difference(index, files, str(BINARIES / PROGRAM)).startswith("made again")


def test_honest_certificate_is_made_again() -> None:
    assert difference(index_of(PROGRAM, FEW), few(), str(BINARIES / PROGRAM)) == ""


def test_other_file_does_not_make_it() -> None:
    other = str(BINARIES / "loongarch64/unrolled.so")
    assert "holds no image" in difference(index_of(PROGRAM, FEW), few(), other)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program(program: str) -> None:
    assert refusal(certificate_of(program)) == ""
