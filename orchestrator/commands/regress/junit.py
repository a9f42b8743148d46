"""Verdicts on regressions as JUnit XML: one test case for each cell and metric.

A regression is a failure. What nothing could be decided on is skipped, with the reason.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from analysis.regress.judgements import Judgement
from analysis.statistics.numbers import change_words
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.cells import MetricVerdicts, full_name, verdicts_by_metric
from orchestrator.commands.regress.document import judgement_data
from orchestrator.commands.regress.sentences import step_words

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold: the production `Char` of XML 1.0."""
_NO_PROPERTIES = frozenset({"cell", "metric", "reason", "changes", "steps", "history"})
"""Keys of JSON that test cases tell in other places."""


def regression_junit(answer: RegressionAnswer) -> bytes:
    """The verdicts as JUnit XML."""
    root = Element("testsuites", name="orchestrator regress")
    totals: Counter[str] = Counter()
    for verdicts in verdicts_by_metric(answer):
        totals += _suite(root, answer, verdicts)
    root.attrib |= _counts(totals)
    indent(root)
    content: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _suite(root: Element, answer: RegressionAnswer, verdicts: MetricVerdicts) -> Counter[str]:
    """A suite with the test cases of one metric; the number of each outcome."""
    judgements = answer.judgements
    name = f"{verdicts.metric.label}: {judgements.run} beside {judgements.base}"
    suite = SubElement(root, "testsuite", name=_xml(name))
    shared = {
        "baseline": judgements.base,
        "run": judgements.run,
        "threshold": judgements.threshold,
        "require_grade": answer.request.require_grade,
    }
    _add_properties(suite, shared)
    counts: Counter[str] = Counter()
    worse = {cell for cell, _ in answer.below_grade}
    for judgement in verdicts.judgements:
        counts["tests"] += 1
        counts[_add_case(suite, answer, judgement, below=judgement.cell_id in worse)] += 1
    suite.attrib |= _counts(counts)
    return counts


def _counts(counts: Mapping[str, int]) -> dict[str, str]:
    names = ("tests", "failures", "errors", "skipped")
    return {name: str(counts.get(name, 0)) for name in names}


def _add_case(
    suite: Element, answer: RegressionAnswer, judgement: Judgement, *, below: bool
) -> str:
    """Add a test case; its outcome."""
    class_name = f"accelmatrix.{judgement.metric.name}"
    case = SubElement(
        suite, "testcase", classname=_xml(class_name), name=_xml(full_name(judgement))
    )
    data = judgement_data(judgement)
    _add_properties(case, {key: data[key] for key in data if key not in _NO_PROPERTIES})
    if judgement.verdict == "regression":
        size = change_words(judgement.ratio) if judgement.ratio else ""
        failure = SubElement(case, "failure", type="regression", message=_xml(size))
        failure.text = _xml("\n".join(_story(judgement)))
        return "failures"
    if judgement.verdict in {"inconclusive", "not comparable"}:
        message = f"{judgement.verdict}: {judgement.reason}"
    elif below:
        message = f"below the required grade {answer.request.require_grade}"
    else:
        return "passed"
    SubElement(case, "skipped", message=_xml(message))
    return "skipped"


def _story(judgement: Judgement) -> Sequence[str]:
    """Lines about a failure: the values, the noise, candidates for the cause, steps."""
    before, after, unit = judgement.before, judgement.after, judgement.metric.unit
    values = (
        f"{before.geometric_mean:g} {unit} then, {after.geometric_mean:g} {unit} now"
        if before and after
        else ""
    )
    noise = f"noise: {judgement.noise}" if judgement.noise else ""
    changes = (f"changed beside: {change}" for change in judgement.changes or ())
    steps = (f"{step_words(step)}: {change_words(step.ratio)}" for step in judgement.steps)
    return [line for line in (values, noise, *changes, *steps) if line]


def _add_properties(parent: Element, values: Mapping[str, object]) -> None:
    """Add what is known as properties: numbers, words, and lists joined by commas."""
    properties = SubElement(parent, "properties")
    for name, value in values.items():
        if value is not None and value not in ([], ""):
            SubElement(properties, "property", name=name, value=_xml(_text(value)))


def _text(value: object) -> str:
    """A value as JSON writes it, without quotes; a list joined by commas."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml(text: str) -> str:
    """The text with characters escaped that no XML document may hold."""
    return _NO_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
