"""docs/health.md tells of every check what it finds and what `--fix` does about it."""

from orchestrator.store.health.checks import CHECKS, Check
from orchestrator.store.health.validate import ALTERED, FOREIGN, RETYPED
from tests.conftest import ROOT
from tests.docs.pages import Page

PAGE = Page(ROOT / "docs" / "health.md")


def told_fix(check: Check) -> str:
    """What the page must say of a check: repairs, quarantine, both or neither."""
    quarantined = check.table is not None
    words = ["derives"] * bool(check.repair) + ["quarantine"] * quarantined
    return ", else ".join(words) or "–"


def test_every_check_is_told_in_order() -> None:
    assert [row[0] for row in PAGE.rows("check")] == [check.name for check in CHECKS]
    assert {ALTERED, RETYPED, FOREIGN} <= set(PAGE.spans)


def test_severities_and_remedies_are_told() -> None:
    for (_, ours, others, fix), check in zip(PAGE.rows("check"), CHECKS, strict=True):
        assert ours in (check.severity, "–"), check.name
        assert others in (check.imported, "–"), check.name
        assert fix == told_fix(check), check.name
