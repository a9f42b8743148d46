"""docs/commands.md is the help of every command, whatever terminal made it."""

import re

import pytest

from tests.docs.command_line import command_line
from tools.docs.commands import WIDTH, help_markdown, help_texts
from tools.docs.pages import FILES


def test_it_holds_every_command() -> None:
    page = help_markdown()
    images = (f"images {name}" for name in ("list", "build", "pull", "push", "prune"))
    for name in (*command_line().commands, *images):
        assert f"## orchestrator {name}\n" in page
    assert page in FILES["docs/commands.md"]()


@pytest.mark.parametrize("columns", ["30", "200"])
def test_the_terminal_does_not_change_it(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = help_markdown()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "dumb")
    assert help_markdown() == before


def test_an_option_stands_where_somebody_needs_it_and_no_line_is_too_wide() -> None:
    """Others merge and rebuild synthetic results too; the fake backend is for our tests alone."""
    showing = [path for path, text in help_texts() if re.search(r"^ +--scratch", text, re.M)]
    assert showing == ["orchestrator merge", "orchestrator database rebuild"]
    for path, text in help_texts():
        assert max(map(len, text.splitlines())) <= WIDTH, path
