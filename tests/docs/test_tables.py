"""Tables of the pages list exactly what the code has, in its order where that says something."""

import re
from typing import get_args

import pytest

from analysis.compatibility.verdicts import MEANINGS
from analysis.results.metrics import METRICS
from orchestrator.commands.results.result_table import TABLE_COLUMNS
from orchestrator.exchange.imports.measurement import UNITS
from orchestrator.store import WRITERS
from orchestrator.store.health.checks.all_checks import CHECKS
from orchestrator.store.health.checks.check import Check
from orchestrator.store.health.validate import ALTERED, FOREIGN, RETYPED
from orchestrator.store.query.export import TOPICS
from orchestrator.store.query.filters import Filters
from runner.contract.cell import Mode, Scenario
from tests.conftest import ROOT
from tests.docs.pages import Page

LISTED = {
    ("ask", "best verdict"): sorted(MEANINGS),
    ("python", "filter"): sorted(Filters.__annotations__),
    ("share", "topic"): sorted(TOPICS),
    ("share", "format"): sorted(["table", *WRITERS]),
    ("modes", "mode"): sorted(get_args(Mode)),
    ("health", "check"): sorted(check.name for check in CHECKS),
}
"""The names in the first column of a table, by page and its first headings."""


def page(name: str) -> Page:
    return Page(ROOT / "docs" / f"{name}.md")


@pytest.mark.parametrize(("name", "heading"), LISTED)
def test_a_table_lists_all_there_is(name: str, heading: str) -> None:
    cells = [row[0] for row in page(name).rows(heading)]
    quoted = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    assert sorted(quoted or cells) == LISTED[name, heading]


def test_columns_of_results_are_explained_beside_metrics() -> None:
    cells = [row[0] for row in page("numbers").rows("column | meaning")]
    explained = {span for cell in cells for span in re.findall(r"`([^`]+)`", cell)}
    assert explained <= {*TABLE_COLUMNS}
    assert {*TABLE_COLUMNS} - explained <= {metric.brief for metric in METRICS.values()}


def test_every_scenario_is_named() -> None:
    assert all(f"`{scenario}`" in page("modes").prose for scenario in get_args(Scenario))


def test_the_units_of_imports_are_those_of_the_code() -> None:
    listed = [units.replace("`", "").split() for _, units in page("import").rows("for")]
    assert listed == [list(units) for units in UNITS.values()]


def describe_fix(check: Check) -> str:
    """The table's words for repairs, quarantine, both or neither."""
    words = ["derives"] * bool(check.repair) + ["quarantine"] * (check.table is not None)
    return ", else ".join(words) or "–"


def test_checks_of_health_have_their_severities_and_remedies() -> None:
    for (name, ours, others, fix), check in zip(page("health").rows("check"), CHECKS, strict=True):
        assert name == check.name
        assert ours in (check.severity, "–"), name
        assert others in (check.imported, "–"), name
        assert fix == describe_fix(check), name
    assert {ALTERED, RETYPED, FOREIGN} <= set(page("health").spans)
