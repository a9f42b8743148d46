"""Every command, option and view that a message, a hint or a help text names is there."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from orchestrator.commands.app import app
from orchestrator.screen.dictionary import WORDS
from orchestrator.store.query.relations import RELATIONS
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from runner.contract.errors import how_to_install
from tests.conftest import ROOT
from tests.docs.command_line import command_line, parse
from tests.support.databases import write_records
from tests.support.records import NOISY, a_failure, a_record

ROOMS = ("analysis", "orchestrator", "runner")
SPAN = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
SAMPLES = {
    "command": "regress",
    "example": "performance",
    "option": "--resume",
    "options": "--backend available",
    "KEEP_MEMORY": "NAME=VALUE",
    "where": "",
    "folders.run.elsewhere": "",
    "folder.elsewhere": "",
    "self.topic": "run",
    "self.subject": "last",
    "choice.fleet_options": "--fleet",
    "first.elsewhere": "",
    "other": "bert-micro",
}
"""What stands in the places that are no name or path."""


_OF_SHELL = ["export", "NAME=VALUE"]
_WITH_VALUE = ("--accept", "--baseline", "--bundle", "--model")
"""Options that a help text mentions without their value."""


class Proposal(NamedTuple):
    place: str
    words: tuple[str, ...]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that are no docstrings, with samples in the places of f-strings."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    within = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    within |= {id(v) for node in nodes if isinstance(node, ast.JoinedStr) for v in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(filled, node.values))
        elif isinstance(node, ast.Constant) and id(node) not in within:
            yield node.lineno, str(node.value)


def filled(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        expression = ast.unparse(part.value)
        return SAMPLES.get(expression, "{" + expression.replace("`", "") + "}")
    return str(part.value) if isinstance(part, ast.Constant) else ""


@cache
def spans() -> tuple[tuple[str, str], ...]:
    """Each span of code in a text of the product, with its place."""
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    known = [
        (f"{file.relative_to(ROOT)}:{line}", span)
        for file in files
        for line, text in texts(file)
        for span in SPAN.findall(text)
    ]
    explained = "\n".join(chain.from_iterable(word.lines for word in WORDS))
    return (*known, *(("words.toml", span) for span in SPAN.findall(explained)))


def proposals() -> Iterator[Proposal]:
    """Command lines, beginning with our program's name or with a command's; `…` stands for more."""
    for place, span in spans():
        plain = PLACE.sub("X", span)
        if "…" in span or span.startswith("{"):
            continue
        words = shlex.split(plain)
        if words[:1] == ["orchestrator"]:
            yield Proposal(place, tuple(words[1:]))
        elif len(words) > 1 and words[0] in command_line().commands and words != _OF_SHELL:
            yield Proposal(place, (*words, *(["X"] if words[-1] in _WITH_VALUE else [])))


PROPOSALS = sorted({one.words: one for one in proposals()}.values())


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda one: " ".join(one.words))
def test_a_proposed_command_is_understood(proposal: Proposal) -> None:
    if proposal.words != ("X",):
        parse(proposal.words)


def test_options_that_are_named_alone_exist() -> None:
    options = {flag for command in commands() for one in command.params for flag in one.opts}
    for place, span in spans():
        for word in span.split():
            if span.startswith("--") and word.startswith("--"):
                assert word.partition("=")[0] in options, (place, span)


def commands() -> Iterator[object]:
    left = [command_line()]
    while left:
        command = left.pop()
        left += getattr(command, "commands", {}).values()
        yield command


HARMLESS = {"explain", "models", "plan", "query", "status"}
"""Commands that are fast and change nothing."""
EXECUTED = sorted(
    one.words
    for one in PROPOSALS
    if one.words[0] in HARMLESS
    and "--fleet" not in one.words
    and not re.search(r"\b(X|[A-Z][A-Z_]+)\b", " ".join(one.words))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a matrix, and with a database of a result that failed and one that did not."""
    folder = tmp_path_factory.mktemp("proposals")
    (folder / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    (folder / "results").mkdir()
    failed = a_failure("unavailable", "no image", batch_size=4)
    write_records(folder / "results", [a_record(doubts=[NOISY], grade="B"), failed])
    return folder


@pytest.mark.parametrize("words", EXECUTED, ids=" ".join)
def test_a_proposed_command_that_changes_nothing_answers(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert app([*words], standalone_mode=False) in (None, 0)


def test_every_column_of_a_named_question_can_be_asked_for(folder: Path) -> None:
    with Store.open_readonly(folder / "results" / DATABASE_NAME) as store:
        for relation in RELATIONS:
            store.arrow(f"SELECT {', '.join(relation.columns)} FROM {relation.name}")
        (remedies,) = store.arrow("SELECT remedy FROM failures").to_pydict().values()
        assert len(remedies) == 1


@pytest.mark.parametrize("extra", ["analysis", "browser", "cpu", "cuda", "openvino", "qnn"])
def test_a_checkout_makes_what_a_wheel_installs_by_an_extra(extra: str) -> None:
    made = how_to_install(extra, in_checkout=True).strip("`").split()
    assert made[0] == "make"
    assert f"\n{made[1]}: " in (ROOT / "Makefile").read_text("utf-8")
    installed = how_to_install(extra, in_checkout=False)
    assert installed.startswith(f"`pip install 'accelmatrix[{extra}]'`")
    assert f"optional-dependencies.{extra} " in (ROOT / "pyproject.toml").read_text("utf-8")


def test_no_text_proposes_make_where_there_may_be_no_makefile() -> None:
    makers = {place.partition(":")[0] for place, span in spans() if span.startswith("make ")}
    # The other one speaks of a checkout, which has one.
    assert makers == {"runner/contract/errors.py", "orchestrator/launchers/checkout.py"}
