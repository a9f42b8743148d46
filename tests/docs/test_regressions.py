"""docs/regressions.md: the keys of JSON that it lists, and a workflow that GitHub understands."""

import re

from orchestrator.commands.regress.table import regression_document
from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.verdicts import a_judgement, an_answer

PAGE = Page(ROOT / "docs/regressions.md")


def keys_of(heading: str) -> set[str]:
    """The keys that a table lists, of the baseline where it says so."""
    spans = {key for row in PAGE.rows(heading) for key in re.findall(r"`([a-z_]+)`", row[0])}
    return spans - {"baseline_"}


def test_the_keys_of_json_are_those_of_the_page() -> None:
    document = regression_document(an_answer(a_judgement()))
    assert keys_of("key | meaning") >= document.keys()
    (judgement,) = document["judgements"]
    listed = keys_of("key of a judgement")
    assert {key.removeprefix("baseline_") for key in judgement} == {
        key.removeprefix("baseline_") for key in listed
    }
