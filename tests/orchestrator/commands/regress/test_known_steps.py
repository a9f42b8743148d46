"""Known steps are recorded with a reason, and later results are judged by the new level."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.regress.command import (
    LONGEST_REASON,
    Acceptance,
    accept_step,
    acceptance_lines,
    withdraw_step,
)
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.words.records import record_words
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.record.files import save_record
from tests.support.launches import launched
from tests.support.records import RECORDED_AT, a_failure

LEVELS = {"fast": 10.0, "slow": 12.0, "still-slow": 12.01, "slower": 14.0}
"""Milliseconds of both cells by run, in the order of time."""
APART = (0.997, 0.999, 1.0, 1.001, 1.003)
BECAUSE = "a compiler that checks more"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each level, and one of failures alone; nobody changes it."""
    folder = tmp_path_factory.mktemp("levels")
    for day, (run_id, level) in enumerate(LEVELS.items()):
        (folder / run_id).mkdir()
        for batch_size in (1, 2):
            record = launched(
                [level * batch_size * apart for apart in APART],
                run_id=run_id,
                batch_size=batch_size,
                recorded_at=RECORDED_AT + timedelta(days=day),
            )
            save_record(record, folder / run_id)
    save_record(a_failure("failed", "out of luck", run_id="failed"), folder)
    with Store.open(folder / "benchmarks.duckdb") as store:
        store.merge([folder], words=record_words)
    return folder / "benchmarks.duckdb"


@pytest.fixture
def database(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def cells(database: Path, **filters: Any) -> SelectionRequest:
    return SelectionRequest(database, filters=filters)  # type: ignore[arg-type]


def verdicts(database: Path, baseline: str, run: str) -> dict[str, tuple[str, str]]:
    """The verdict and its reason by cell, and the run it was judged against."""
    request = RegressionRequest(SelectionRequest(database), baseline, run)
    return {
        one.cell_id[-18:-15]: (one.verdict, one.reason or one.before.facts["run_id"])
        for one in judge_regressions(request).judgements.judgements
        if one.before
    }


@pytest.mark.slow
def test_later_runs_are_judged_by_the_level_that_was_accepted(database: Path) -> None:
    accept_step(cells(database), "slow", BECAUSE)
    for run, expected in {
        "slow": ("no change", f"accepted: {BECAUSE}"),
        "still-slow": ("no change", "slow"),
        "slower": ("regression", "slow"),
    }.items():
        assert set(verdicts(database, "fast", run).values()) == {expected}, run


def test_filters_choose_cells_and_a_second_reason_replaces_the_first(database: Path) -> None:
    one = accept_step(cells(database, batch_size=(1,)), "slow", BECAUSE)
    assert (one.run_id, len(one.cell_ids), one.because, one.updated) == ("slow", 1, BECAUSE, ())
    assert sorted(verdicts(database, "fast", "slow").values()) == [
        ("no change", f"accepted: {BECAUSE}"),
        ("regression", "fast"),
    ]
    both = accept_step(cells(database), "slow", "  another  ")
    assert (len(both.cell_ids), both.because, both.updated) == (2, "another", one.cell_ids)


def test_what_was_accepted_can_be_taken_back(database: Path) -> None:
    accept_step(cells(database), "slow", BECAUSE)
    part = withdraw_step(cells(database, batch_size=(2,)), "slow")
    assert (len(part.cell_ids), part.because) == (1, None)
    assert len(withdraw_step(cells(database), "slow").cell_ids) == 1
    assert {verdict for verdict, _ in verdicts(database, "fast", "slow").values()} == {"regression"}
    with pytest.raises(NothingToDo, match="nothing was accepted of slow") as caught:
        withdraw_step(cells(database), "slow")
    assert caught.value.hint == "no change is accepted in this database"


REFUSED: dict[str, tuple[str, str, type[Exception], str]] = {
    "an unknown run": ("slwo", BECAUSE, UsageError, "'slwo' is not a run in .*did you mean slow?"),
    "no result": ("failed", BECAUSE, NothingToDo, "failed has no result that fits"),
    "no reason": ("slow", " ", UsageError, "--because is empty"),
    "too long": ("slow", "a" * (LONGEST_REASON + 1), UsageError, "501 letters, and at most 500"),
    "two lines": ("slow", "a\nb", UsageError, "--because 'a.*nb': is not one line of text"),
}


@pytest.mark.parametrize(("run", "because", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    database: Path, run: str, because: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        accept_step(cells(database), run, because)
    assert query(database, "FROM accepted_changes").num_rows == 0


def test_the_screen_says_what_follows() -> None:
    ids = tuple(f"cell-{number}" for number in range(5))
    lines = list(acceptance_lines(Acceptance("run-1", ids, "known", ids[:1])))
    assert lines[:3] == [
        "accepted: 5 cells of run-1: cell-0, cell-1, cell-2 and 2 more",
        "because: known",
        "1 of them was accepted before.",
    ]
    assert "--withdraw run-1" in lines[-1]
    (first, _) = acceptance_lines(Acceptance("run-1", ids[:1], None))
    assert first == "taken back: 1 cell of run-1: cell-0"
