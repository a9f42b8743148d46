import re
from pathlib import Path

import pytest

from orchestrator.store.query.results import RunSummary
from orchestrator.store.query.runs import resolve_run
from runner.contract.errors import UsageError
from tests.support.records import RECORDED_AT

DATABASE = Path("a.duckdb")
OURS = RunSummary("run-2", RECORDED_AT, None, 3, {})
OLDER = RunSummary("run-1", RECORDED_AT, None, 3, {})
IMPORTED = RunSummary("import-1", RECORDED_AT, None, 3, {}, source="timm")


def test_a_run_is_named_by_its_id_whoever_measured_it() -> None:
    runs = [IMPORTED, OURS, OLDER]
    assert [resolve_run(run.run_id, runs, DATABASE) for run in runs] == [
        "import-1",
        "run-2",
        "run-1",
    ]


def test_the_last_run_is_the_newest_of_ours() -> None:
    assert resolve_run("last", [IMPORTED, OURS, OLDER], DATABASE) == "run-2"
    assert resolve_run("last", [IMPORTED], DATABASE) == "import-1"


@pytest.mark.parametrize(
    ("name", "runs", "guess", "hint"),
    [
        ("lst", [OURS, OLDER], "; did you mean last?", "the newest are run-2, run-1"),
        ("run-11", [OLDER], "; did you mean run-1?", "the newest is run-1"),
        ("run-3", [], "", "it holds none yet"),
        ("last", [], "", "it holds none yet"),
    ],
)
def test_another_run_is_refused(name: str, runs: list[RunSummary], guess: str, hint: str) -> None:
    with pytest.raises(
        UsageError, match=f"'{name}' is not a run in a.duckdb{re.escape(guess)}$"
    ) as caught:
        resolve_run(name, runs, DATABASE)
    assert caught.value.hint == hint
