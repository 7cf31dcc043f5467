"""JUnit XML, as continuous integration systems read it.

One suite for each function, with one case for each property: a failure where it is REFUTED, an
error where it is UNKNOWN or VACUOUS. A file that cannot be used is a suite with one error.
"""

from __future__ import annotations

from xml.etree import ElementTree

from verify.errors import printable
from verify.report.formats import caveats, reason, title
from verify.resultjson import Outcome
from verify.verdict import PropertyResult, Result, Verdict


def render(outcome: Outcome) -> str:
    """The whole report."""
    root = ElementTree.Element("testsuites", name="vdso-verify")
    for result in outcome.results:
        root.append(_suite(result))
    for failure in outcome.failures:
        name = printable(failure.source or failure.kind.value)
        suite = _suite_of(name, tests=1, failures=0, errors=1)
        case = ElementTree.SubElement(suite, "testcase", classname=name, name="input", time="0")
        ElementTree.SubElement(
            case, "error", type=failure.kind.value, message=printable(failure.reason)
        )
        root.append(suite)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite_of(name: str, *, tests: int, failures: int, errors: int) -> ElementTree.Element:
    numbers = {"tests": tests, "failures": failures, "errors": errors}
    attributes = {"name": name, **{key: str(value) for key, value in numbers.items()}}
    return ElementTree.Element("testsuite", attributes)


def _suite(result: Result) -> ElementTree.Element:
    verdicts = [found.verdict for found in result.properties]
    refuted = verdicts.count(Verdict.REFUTED)
    suite = _suite_of(
        title(result),
        tests=len(verdicts),
        failures=refuted,
        errors=len(verdicts) - refuted - verdicts.count(Verdict.PROVED),
    )
    suite.set("time", f"{result.seconds:.3f}")
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("sha256", result.target.sha256),
        ("function_sha256", result.target.function_sha256),
        ("architecture", result.target.architecture),
        ("contract", result.contract.value),
        *(
            [("chacha20_sha256", result.environment.chacha20.function_sha256)]
            if result.environment
            else []
        ),
        ("caveats", caveats(result)),
        *result.tools.items(),
    ):
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for found in result.properties:
        suite.append(_case(result, found))
    return suite


def _case(result: Result, found: PropertyResult) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=title(result), name=found.property)
    if found.seconds is not None:
        case.set("time", f"{found.seconds:.3f}")
    if found.verdict is not Verdict.PROVED:
        tag = "failure" if found.verdict is Verdict.REFUTED else "error"
        ElementTree.SubElement(case, tag, type=found.verdict.value, message=reason(found))
    return case
