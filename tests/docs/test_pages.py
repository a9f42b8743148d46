"""What holds for every page: links lead somewhere, commands are understood, pictures are whole."""

import re
import shlex
from pathlib import Path

import pytest
from typer import TyperException

from orchestrator.commands.app import app
from runner.contract.errors import UsageError
from tests.conftest import ROOT
from tests.docs.command_line import command_line, parse
from tests.docs.pages import COMMANDS as COMMANDS_PAGE
from tests.docs.pages import PAGES, Page, anchor
from tests.support.weights import a_weights_folder

SOURCE_PATH = re.compile(r"(\.github|docs|images|orchestrator|performance|runner|tests)/[\w./-]+")
TRIED = {"plan", "models"}
MEASURING = {"run", "bench"}
EARLIER = {"--resume", "--interleave", "--fleet", "--prepare-only"}
"""Options that need an earlier run or other machines, or work beside `--dry-run`."""
MATRICES = ("matrix.yaml", "best.yaml", "next.yaml")
"""The reader's matrix, and those that `recommend` writes."""
FOLDER = "all-MiniLM-L6-v2"
"""The model that pages call the reader's own."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def commands_of(page: Page) -> list[list[str]]:
    """The arguments of every `orchestrator …` on the page."""
    shown = [*page.shell_lines(), *page.spans]
    lines = [shlex.split(line, comments=True) for line in shown if line.startswith("orchestrator ")]
    return [line[1:] for line in lines]


COMMANDS = sorted({tuple(line) for page in PAGES for line in commands_of(page)})
HARMLESS = [
    line
    for line in COMMANDS
    if {*line[:1]} & (TRIED | MEASURING) and not EARLIER & {*line} and parse(line)
]


@every_page
def test_every_link_leads_somewhere(page: Page) -> None:
    for link in page.links:
        if "://" in link:
            continue
        path, _, fragment = link.partition("#")
        target = (page.path.parent / path) if path else page.path
        assert target.resolve().is_relative_to(ROOT), link
        assert target.exists(), link
        if fragment:
            assert fragment in Page(target).anchors, link


@every_page
def test_every_file_it_names_exists(page: Page) -> None:
    for span in page.spans:
        if SOURCE_PATH.fullmatch(span) and "NNNN" not in span:
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_command_is_understood(arguments: tuple[str, ...]) -> None:
    parse(arguments)


@pytest.mark.parametrize("arguments", HARMLESS, ids=" ".join)
def test_commands_that_change_nothing_work(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in MATRICES:
        (tmp_path / name).write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    a_weights_folder(tmp_path / FOLDER)
    monkeypatch.chdir(tmp_path)
    command_line()
    dry = ["--dry-run"] if arguments[0] in MEASURING else []
    assert app([*arguments, *dry], standalone_mode=False) in (None, 0)
    assert capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {*MATRICES, FOLDER}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["run", "matrix.yaml", "--frobnicate"], TyperException),
        (["query", "a", "b"], UsageError),
        (["bench", "--limit=x"], TyperException),
        (["frobnicate", "matrix.yaml"], KeyError),
        (["--frobnicate", "run"], KeyError),
    ],
)
def test_wrong_arguments_are_noticed(arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        parse(arguments)


def test_the_page_of_commands_mentions_every_one() -> None:
    mentioned = {row[0].strip("`") for row in COMMANDS_PAGE.rows("command")}
    assert mentioned == set(command_line().commands)
    for name in mentioned:
        assert any(
            line[:1] == [name] and parse(line) is not None for line in commands_of(COMMANDS_PAGE)
        )


def test_headings_become_anchors_as_on_github() -> None:
    assert anchor("GitHub's `self-hosted` runners, twice") == "githubs-self-hosted-runners-twice"
