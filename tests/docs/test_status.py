"""docs/ask.md explains every verdict that `orchestrator status` shows."""

import re

from orchestrator.store.query.coverage import VERDICTS
from tests.conftest import ROOT
from tests.docs.pages import Page

PAGE = Page(ROOT / "docs/ask.md")


def test_every_worth_of_a_result_is_explained() -> None:
    told = [word for row in PAGE.rows("best verdict") for word in re.findall(r"`(\w+)`", row[0])]
    assert sorted(told) == sorted(VERDICTS)
