"""Options that choose results: what a command gets of them, and what is refused."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import Program
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.commands.results.selection import SelectionRequest
from runner.contract.errors import UsageError

_USUAL = Path("results/benchmarks.duckdb")
_OTHER = Path("other/benchmarks.duckdb")

SMALL = {"family": "embedding", "modality": "text", "size": "tiny"}


@dataclass(frozen=True, kw_only=True)
class Asked(ResultSelection, Command):
    """A command with these options alone."""

    def execute(self) -> None:
        """Do nothing: the tests read the options."""


def asked(*words: str) -> SelectionRequest:
    """The request that a command gets of these words."""
    program = Program()
    program.command()(Asked)
    command: Asked = get_command(program).main(list(words), standalone_mode=False)
    return command.selected


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("", {}),
        ("--results other", {"results": Path("other"), "database": _OTHER}),
        ("--database x.duckdb --run last", {"database": Path("x.duckdb"), "run": "last"}),
        ("--source timm", {"filters": {"source": ["timm"]}, "imported": True}),
        ("--batch-size 1,2 --batch-size 4", {"filters": {"batch_size": (1, 2, 4)}}),
        ("--model ./nets/my_llama/,gpt2", {"filters": {"model": ["my_llama", "gpt2"]}}),
        ("--until 2026-11-21", {"filters": {"until": datetime(2026, 11, 21, tzinfo=UTC)}}),
    ],
)
def test_options_become_one_request(words: str, wanted: dict[str, Any]) -> None:
    usual = {"database": _USUAL, "results": Path("results")}
    assert asked(*words.split()) == SelectionRequest(**(usual | wanted))


def test_a_time_ago_is_taken_for_a_date() -> None:
    week_ago = datetime.now(UTC) - timedelta(days=7)
    assert abs(asked("--since", "7d").filters["since"] - week_ago) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--since soon", "'soon' is neither a date such as 2026-11-21 nor a time such as 7d"),
        ("--precision fp17", "--precision: 'fp17' is unknown; did you mean fp16?"),
        ("--batch-size few", "--batch-size: 'few' is not a whole number"),
    ],
)
def test_a_value_of_no_use_is_refused_by_name(words: str, message: str) -> None:
    with pytest.raises((UsageError, typer.BadParameter)) as refused:
        asked(*words.split())
    assert message in str(refused.value)


def test_a_file_of_models_stands_for_those_in_it(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps([{"name": n, **SMALL} for n in ("one", "two")]))
    assert asked("--model", f"{path},gpt2").filters["model"] == ["one", "two", "gpt2"]
