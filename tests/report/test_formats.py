"""Reports for other programs and for mails, made from the result alone and read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from junitparser import Error, JUnitXml
from junitparser import Failure as Failed_
from sarif_pydantic import Sarif

from tests.report import samples
from verify.cli import run
from verify.counterexample import Look, Observation
from verify.report.command import Format
from verify.resultjson import Failed, Failure, Outcome, dumps, inspections_to_json, to_json
from verify.verdict import Result, Verdict

NASTY = replace(
    samples.PROVED,
    target=replace(samples.TARGET, source="a#b|c`d\x1b[31m\x00 ü<&>.so", function="f # SKIP"),
    properties=(
        replace(samples.property_result("abi", Verdict.UNKNOWN), reason="why # TODO\n|`<&>\x01"),
    ),
)
RESULTS = (
    *samples.ALL.values(),
    NASTY,
)
OUTCOME = Outcome(RESULTS, (Failure(Failed.INPUT, "x.so", "is no ELF # file"),))
FORMATS = tuple(format_.value for format_ in Format if format_ is not Format.PDF)


def rendered(name: str, outcome: Outcome = OUTCOME) -> str:
    return str(import_module(f"verify.report.{name}").render(outcome))


def verdicts(results: tuple[Result, ...] = RESULTS) -> list[tuple[str, Verdict]]:
    return [(found.property, found.verdict) for result in results for found in result.properties]


@pytest.mark.parametrize("name", FORMATS)
def test_every_result_is_printable(name: str) -> None:
    for result in samples.ALL.values():
        text = rendered(name, Outcome((result,)))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", rendered(name))


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_at_all(name: str) -> None:
    rendered(name, Outcome())


@pytest.mark.parametrize("name", FORMATS)
def test_command(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several results in, the same as one outcome with all of them."""
    files = []
    for number, result in enumerate(RESULTS):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(dumps(to_json(Outcome((result,)))))
    assert run(["report", *map(str, files), "--format", name]) == 0
    assert capsys.readouterr().out == rendered(name, Outcome(RESULTS))
    assert run(["report", str(files[0]), "--format", name, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == rendered(name, Outcome(RESULTS[:1]))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 0}', "[" * 100_000, "\ud800"])
def test_no_results(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.json").write_bytes(text.encode(errors="surrogatepass"))
    assert run(["report", str(tmp_path / "r.json"), "--format", "ktap"]) == 2
    assert "not a result of vdso-verify prove --json" in capsys.readouterr().err
    assert run(["report", str(tmp_path / "none.json"), "--format", "ktap"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_what_inspect_wrote_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "i.json").write_text(dumps(inspections_to_json((), ())))
    assert run(["report", str(tmp_path / "i.json"), "--format", "ktap"]) == 2
    assert "it is what inspect found" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["html", "markdown"])
def test_both_keys_are_shown(name: str) -> None:
    """Where a value depends on the key, both keys are needed to see that."""
    found = samples.REFUTED.properties[0]
    assert found.counterexample is not None
    other = replace(found.counterexample, other_key=(0, 0, 0, 0, 0, 0, 0, 0xABCDEF))
    properties = (replace(found, counterexample=other),)
    assert "0x00abcdef" not in rendered(name, Outcome((samples.REFUTED,)))
    assert "0x00abcdef" in rendered(
        name, Outcome((replace(samples.REFUTED, properties=properties),))
    )


def test_markdown_fits_into_a_mail() -> None:
    lines = rendered("markdown").splitlines()
    assert all(len(line) < 80 for line in lines if " " in line.strip("- `") and line[0] != "#")
    text = "\n".join(lines)
    for result in RESULTS:
        for found in result.properties:
            assert f"- `{found.property}`: {found.verdict.value}" in text
        assert result.target.function_sha256 in text
        for caveat in result.caveats:
            assert caveat.value in text
    assert "    key      0x03020100 0x07060504 0x00000000 0x00000001\n" in text
    assert "It leaves the specification at 0x4a4, chacha.S:120: `rotri.w t0, t0, 0xf`." in text
    assert "Not usable: x.so: is no ELF # file" in text


class Page(HTMLParser):
    """What a browser and a screen reader need of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name == "src" or name.startswith("on") for name, _ in attrs)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        for name, value in attrs:
            if name == "aria-labelledby":
                self.links += [f"#{one}" for one in (value or "").split()]
        assert tag != "th" or "scope" in dict(attrs)
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_page_is_self_contained_and_well_formed() -> None:
    page = Page()
    page.feed(rendered("html"))
    page.close()
    assert page.open == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert page.tags.count("h1") == 1
    assert len(set(page.ids)) == len(page.ids)
    assert {f"#{one}" for one in page.ids} >= set(page.links)
    assert page.tags.count("svg") == page.tags.count("desc") > 0
    assert page.tags.count("table") == page.tags.count("caption")
    text = " ".join("".join(page.text).split())
    assert text.index("Verdicts") < text.index("What PROVED means")
    assert NASTY.target.function in text
    for result in RESULTS:
        assert result.target.function_sha256 in text
        assert all(write.text in text for write in result.stack_writes)
        assert all(residue.register in text for residue in result.residues)
        assert all(caveat.value in text for caveat in result.caveats)


def test_each_contract_has_its_theorem() -> None:
    both, one, other = (
        " ".join(re.sub(r"<[^>]*>", " ", rendered("html", Outcome(results))).split())
        for results in (RESULTS, (samples.PROVED,), (samples.GETRANDOM,))
    )
    for text in (both, other):
        assert "∥ B c + m + 1" in text
        assert f"ChaCha20 that it calls 876 bytes at 0x760, {samples.EMBEDDED.located}" in text
        assert "8192 bytes in front of the image, pages of 65536 bytes" in text
        again = "prove --contract getrandom --page-size 65536 --data-page 8192 linux-binary"
        assert again in text
        assert all(" ".join(line.split()) in text for line in samples.HISTORY.account)
    for text in (both, one):
        assert "= counter + nblocks mod 2 64" in text
    assert "∥" not in one
    assert "nblocks" not in other
    assert "Stack writes" not in other
    assert "ChaCha20 and getrandom in the vDSO" in both
    assert "getrandom in the vDSO" in other


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"sarif"}))
def test_what_was_taken_for_granted_is_named(name: str) -> None:
    """The bytes of the ChaCha20 on whose contract a getrandom rests."""
    called = "9" * 64
    environment = samples.GETRANDOM.environment
    assert environment is not None
    result = replace(
        samples.GETRANDOM,
        environment=replace(
            environment, chacha20=replace(environment.chacha20, function_sha256=called)
        ),
    )
    assert called in rendered(name, Outcome((result,)))


def test_pdf_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "r.json"
    source.write_text(dumps(to_json(Outcome(RESULTS))))
    assert run(["report", str(source), "--format", "pdf"]) == 2
    assert "name a file with --output" in capsys.readouterr().err
    code = run(["report", str(source), "--format", "pdf", "-o", str(tmp_path / "r.pdf")])
    try:
        import_module("weasyprint")
    except (ImportError, OSError):
        assert code == 2
        assert "weasyprint: " in capsys.readouterr().err
        return
    assert code == 0
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF-")
    assert run(["report", str(source), "--format", "pdf", "-o", str(tmp_path / "no/r.pdf")]) == 2
    assert "no such file" in capsys.readouterr().err


# Linux, Documentation/dev-tools/ktap.rst: version line, plan, test case result lines, diagnostics.
RESULT_LINE = re.compile(
    r"(not )?ok (\d+)( - | )([^#\n]+?)"
    r"( # (SKIP|TODO|XFAIL|TIMEOUT|ERROR)( [^\n]*)?)?"
)


def ktap(lines: Iterator[str], indent: int) -> list[tuple[bool, str, str, list[object]]]:
    """(ok, name, directive, subtests) of each test at one level."""
    pad = " " * indent
    assert next(lines) == f"{pad}KTAP version 1"
    found: list[tuple[bool, str, str, list[object]]] = []
    line = next(lines)
    while line.startswith(f"{pad}# "):
        line = next(lines)
    plan = re.fullmatch(rf"{pad}1\.\.(\d+)", line)
    assert plan
    subtests: list[object] = []
    while len(found) < int(plan[1]):
        line = next(lines)
        if line == f"{pad}  KTAP version 1":
            subtests = list(ktap(iter([line, *lines_of(lines, indent + 2)]), indent + 2))
        elif not line.startswith(f"{pad}# "):
            match = RESULT_LINE.fullmatch(line.removeprefix(pad))
            assert match and int(match[2]) == len(found) + 1, line
            found.append((not match[1], match[4], match[6] or "", subtests))
            subtests = []
    return found


def lines_of(lines: Iterator[str], indent: int) -> Iterator[str]:
    """The lines of one nested block, whose plan says where it ends."""
    pad, left = " " * indent, -1
    while left:
        line = next(lines)
        plan = re.fullmatch(rf"{pad}1\.\.(\d+)", line)
        left = int(plan[1]) if plan else left - bool(re.match(rf"{pad}(not )?ok ", line))
        yield line


def test_ktap_follows_its_grammar() -> None:
    lines = iter(rendered("ktap").splitlines())
    tests = ktap(lines, 0)
    assert next(lines, None) is None
    assert [test[0] for test in tests] == [
        *(result.verdict is Verdict.PROVED for result in RESULTS),
        False,
    ]
    undecided = (Verdict.UNKNOWN, Verdict.VACUOUS)
    assert [one for test in tests for one in test[3]] == [
        (verdict is Verdict.PROVED, name, "ERROR" if verdict in undecided else "", [])
        for name, verdict in verdicts()
    ]


JUNIT: dict[str, tuple[str, str, str]] = {
    "testsuites": ("", "name time tests failures errors", "testsuite"),
    "testsuite": (
        "name tests failures errors",
        "time skipped timestamp hostname id package file log url group",
        "testsuite properties testcase system-out system-err",
    ),
    "properties": ("", "", "property"),
    "property": ("name value", "", ""),
    "testcase": (
        "name",
        "time classname group",
        "skipped error failure rerunFailure rerunError flakyFailure flakyError"
        " system-out system-err",
    ),
    "failure": ("", "type message", ""),
    "error": ("", "type message", ""),
}
"""Of each element, the attributes that it has, those that it may have, and what may be in it:
junit-10.xsd of Jenkins' xunit plugin, as far as these reports use it."""


def test_junit_follows_its_schema() -> None:
    root = ElementTree.fromstring(rendered("junit"))
    assert root.tag == "testsuites"
    assert {element.tag for element in root.iter()} == JUNIT.keys()
    for element in root.iter():
        required, optional, children = (set(names.split()) for names in JUNIT[element.tag])
        assert required <= set(element.keys()) <= required | optional
        assert {child.tag for child in element} <= children
        if element.tag != "testcase":
            assert re.fullmatch(r"\d*(\.\d*)?", element.get("time", ""))


def test_junit_is_read_back() -> None:
    read = JUnitXml.fromstring(rendered("junit").encode())
    cases = [case for suite in read for case in suite]
    kinds = {Failed_: Verdict.REFUTED, Error: Verdict.UNKNOWN}
    found = [
        (case.name, kinds[type(case.result[0])] if case.result else Verdict.PROVED)
        for case in cases
    ]
    assert found == [*verdicts(), ("input", Verdict.UNKNOWN)]
    failures = [verdict for _, verdict in verdicts()].count(Verdict.REFUTED)
    assert (read.tests, read.failures) == (len(cases), failures)
    counted = [(suite.tests, suite.failures, suite.errors) for suite in read]
    read.update_statistics()  # type: ignore[no-untyped-call]
    assert [(suite.tests, suite.failures, suite.errors) for suite in read] == counted


def test_sarif_is_read_back() -> None:
    text = rendered("sarif")
    (read,) = Sarif.model_validate_json(text).runs
    files = [artifact.model_dump_json() for artifact in read.artifacts or []]
    assert len(files) == len(set(files)) == 3
    assert {rule.id for rule in read.tool.driver.rules} == {name for name, _ in verdicts()}
    assert all(read.tool.driver.rules[one.rule_index].id == one.rule_id for one in read.results)
    wanted = [
        (found.property, "error" if found.verdict is Verdict.REFUTED else "warning")
        for result in RESULTS
        for found in result.properties
        if found.verdict is not Verdict.PROVED
        for _ in [c.id for c in found.checks if c.verdict is Verdict.REFUTED] or [""]
    ]
    assert [(one.rule_id, one.level.value) for one in read.results] == wanted
    document = json.loads(text)
    (run_,) = document["runs"]
    first = run_["results"][0]["locations"][0]["physicalLocation"]
    assert first["address"]["absoluteAddress"] == 0x4A4
    assert first["artifactLocation"]["uri"] == "chacha.S"
    assert first["region"] == {"startLine": 120}
    (notification,) = run_["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"] == "x.so: is no ELF # file"


def test_a_pair_of_calls_is_where_they_part() -> None:
    (refuted,) = (one for one in samples.GETRANDOM.properties if one.pair is not None)
    assert refuted.pair is not None
    place = Observation(Look.DEPENDENCE, 0x530)
    parted = replace(refuted, pair=replace(refuted.pair, observation=place))
    for one, address in ((refuted, 0x510), (parted, 0x530)):
        text = rendered("sarif", Outcome((replace(samples.GETRANDOM, properties=(one,)),)))
        (result,) = json.loads(text)["runs"][0]["results"]
        where = result["locations"][0]["physicalLocation"]["address"]
        assert where["absoluteAddress"] == address


# In-toto Attestation Framework: Statement v1, ResourceDescriptor v1, predicate test-result v0.1.
DESCRIPTOR = {
    "type": "object",
    "anyOf": [{"required": [key]} for key in ("uri", "digest", "content", "name")],
    "properties": {
        "name": {"type": "string"},
        "digest": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object"},
    },
}
STATEMENT = {
    "type": "object",
    "required": ["_type", "subject", "predicateType"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {
            "type": "array",
            "minItems": 1,
            "items": {**DESCRIPTOR, "required": ["digest"]},
        },
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "predicate": {
            "type": "object",
            "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"type": "array", "items": DESCRIPTOR},
                "passedTests": {"type": "array", "items": {"type": "string"}},
                "failedTests": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


def test_attestations_are_statements() -> None:
    lines = rendered("attestation").splitlines()
    for line, result in zip(lines, RESULTS, strict=True):
        statement = json.loads(line)
        Draft202012Validator(STATEMENT).validate(statement)
        digests = {subject["digest"]["sha256"] for subject in statement["subject"]}
        assert digests == {result.target.sha256, result.target.image_sha256}
        predicate = statement["predicate"]
        assert (predicate["result"] == "PASSED") == (result.verdict is Verdict.PROVED)
        assert predicate["verdicts"] == {
            name: verdict.value for name, verdict in verdicts((result,))
        }
        assert predicate["caveats"] == [caveat.value for caveat in result.caveats]
