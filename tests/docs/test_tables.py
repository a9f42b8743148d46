"""Tables of the pages list exactly what the code has, in its order where that says something."""

import re
from typing import get_args

import pytest

from analysis.compatibility.verdicts import MEANINGS
from orchestrator.store.health.checks import CHECKS, Check
from orchestrator.store.health.validate import ALTERED, FOREIGN, RETYPED
from orchestrator.store.query.export import TOPICS
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.formats import WRITERS
from runner.contract.axes import Mode
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
