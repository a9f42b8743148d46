"""`last` and `last~1` name the same run in every command: the newest that can answer it."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.compare.answer import compare_results, compare_run_pair
from orchestrator.commands.database.retention import RetentionPolicy, runs_to_delete
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.regress.command import accept_step
from orchestrator.commands.report.answer import report_one_run
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import open_sides
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.running.folder import RunFolder
from orchestrator.running.replay import find_original
from orchestrator.screen.words.records import record_words
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.orchestrator.commands.results.test_sides import CELL, a_result
from tests.support.command_line import call
from tests.support.records import RECORDED_AT, a_record
from tests.support.runs import a_plan, a_run_folder

OLD, OTHER_BATCH, NEW, NEWEST, VERIFIED, EMPTY = (
    f"2026111{day}-120000-aaaa" for day in range(1, 7)
)
_TIMES = ("latency_", "throughput", "steady_time_s", "durations_ns")
UNTIMED = {name: None for name in Record.model_fields if name.startswith(_TIMES)}
RUNS = {
    OLD: [a_result(OLD, 0, 1.4)],
    OTHER_BATCH: [a_result(OTHER_BATCH, 1, batch_size=8)],
    NEW: [a_result(NEW, 2)],
    NEWEST: [a_result(NEWEST, 3, 1.2, hostname="other-host")],
    VERIFIED: [a_record(run_id=VERIFIED, purpose="verify", correct=True, **UNTIMED)],
}


@dataclass(frozen=True)
class Place:
    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def database(self) -> Path:
        return self.results / "benchmarks.duckdb"

    @property
    def selected(self) -> SelectionRequest:
        return SelectionRequest(self.database)

    def do(self, *words: str) -> Any:
        return call(*words, folder=self.folder, environment={})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("last"))
    loose = place.folder / "records"
    for run_id, (record,) in RUNS.items():
        (loose / run_id).mkdir(parents=True)
        save_record(record, loose / run_id)
    a_run_folder(place.results, a_plan(), run_id=EMPTY)
    with Store.open(place.database) as store:
        store.merge([loose], words=record_words).require_complete()
        store.merge([], Run(run_id=EMPTY, started_at=RECORDED_AT, planned=3), words=record_words)
    return place


def labels(place: Place, base: str, run: str, **filters: Any) -> tuple[str, str]:
    selected = SelectionRequest(place.database, filters=filters)  # type: ignore[arg-type]
    with open_sides(selected, base, run) as sides:
        return sides.base.label, sides.run.label


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    ("base", "run", "sides"),
    [
        ("last~1", "last", (NEW, NEWEST)),
        ("last", "last", (NEW, NEWEST)),  # a run is never its own baseline
        ("last~2", "last", (OLD, NEWEST)),  # that of another batch cannot answer
        ("last~2", "last~1", (OLD, NEW)),
        ("last~1", "last~1", (OLD, NEW)),
        ("last", "last~1", (NEWEST, NEW)),
        ("last", NEW, (NEWEST, NEW)),
        ("last", NEWEST, (NEW, NEWEST)),
        ("last~1", NEWEST, (NEW, NEWEST)),
        (OLD, "last", (OLD, NEWEST)),
        (OLD, "last~1", (OLD, NEW)),
    ],
)
def test_sides_are_counted_among_the_runs_that_can_be_compared(
    place: Place, base: str, run: str, sides: tuple[str, str]
) -> None:
    assert labels(place, base, run) == sides


@pytest.mark.parametrize(("base", "sides"), [("last", (NEW, NEWEST)), (OLD, (OLD, NEWEST))])
def test_compare_and_regress_open_these_sides(
    place: Place, base: str, sides: tuple[str, str]
) -> None:
    before = compare_run_pair(place.selected, base, "last")
    assert (before.run_before, before.run_after) == sides
    judged = judge_regressions(RegressionRequest(place.selected, base, "last")).judgements
    assert (judged.base, judged.run) == sides


def test_filters_are_part_of_the_question(place: Place) -> None:
    with pytest.raises(NothingToDo, match="no run before"):
        labels(place, "last~1", "last", batch_size=8)
    assert labels(place, "last~1", "last", hostname="example-host") == (OLD, NEW)


@pytest.mark.parametrize(
    ("base", "run", "message", "hint"),
    [
        ("last~3", "last", f"last~3: 2 runs before {NEWEST} share a series with it", "`last~2`"),
        ("last~9", "last~1", f"last~9: 1 run before {NEW} share", "the oldest of them is"),
        (NEW, "last~9", "last~9: the database holds 4 runs", "the oldest of them is `last~3`"),
    ],
)
def test_a_run_beyond_the_oldest_is_refused(
    place: Place, base: str, run: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        labels(place, base, run)
    assert hint in (refused.value.hint or "")


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("name", "any_run", "launched", "timed"),
    [
        ("last", EMPTY, VERIFIED, NEWEST),
        ("last~1", VERIFIED, NEWEST, NEW),
        ("last~2", NEWEST, NEW, OTHER_BATCH),
    ],
)
def test_every_command_counts_those_that_can_answer_it(
    place: Place, name: str, any_run: str, launched: str, timed: str, tmp_path: Path
) -> None:
    assert json.loads(place.do("status", name, "--json").stdout)["run_id"] == any_run
    run = report_one_run(name, place.selected).run
    assert run is not None
    assert run.run_id == timed
    result = CELL.format(1)
    with pytest.raises(UsageError, match=f"{launched}/{result}"):  # whose job is none
        find_original(f"{name}/{result}", place.database)
    bundle = write_bundle(place.database, [name], tmp_path / "one.zip", force=False)
    assert bundle.manifest.counts.runs == 1
    with SelectionRequest(place.database, run=name).open() as (_, selection):
        assert selection.run_id == timed
    with SelectionRequest(place.database, run=name, of_verdicts=True).open() as (_, selection):
        assert selection.run_id == launched
    copy = shutil.copy(place.database, tmp_path / "copy.duckdb")
    assert accept_step(SelectionRequest(Path(copy)), name, "a new kernel").run_id == timed
    policy = RetentionPolicy(named=[name])
    (deleted,) = runs_to_delete(place.results, place.database, policy)
    assert deleted.run_id == any_run


def test_what_is_passed_over_is_said(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    labels(place, "last~1", "last")
    said = " ".join(capsys.readouterr().err.split())
    assert said == f"last is {NEWEST}: the newer {EMPTY} has no time that answers this"


def test_a_folder_of_runs_counts_back_too(tmp_path: Path) -> None:
    for run_id in (OLD, NEW):
        a_run_folder(tmp_path, a_plan(), run_id=run_id)
    assert RunFolder.open(tmp_path, "last~1").run.run_id == OLD
    with pytest.raises(UsageError, match="last~2: 2 runs"):
        RunFolder.open(tmp_path, "last~2")


def test_hosts_are_compared_by_their_newest_results(place: Place) -> None:
    groups = compare_results(place.selected, "hostname").groups
    rows = {row.name: row.result.facts["run_id"] for row in groups[0].rows}
    assert rows == {"example-host": NEW, "other-host": NEWEST}


def test_a_run_that_was_interrupted_says_how_to_finish_it(place: Place) -> None:
    for words in (("status", "last"), ("status",)):
        shown = place.do(*words)
        assert shown.returncode == 0
        assert f"run {EMPTY} was interrupted before its first cell: all 3 cells are" in shown.stdout
        assert f"orchestrator run --resume {EMPTY}" in shown.stdout
    (unfinished,) = json.loads(place.do("status", "--json").stdout)["unfinished"]
    assert (unfinished["left"], unfinished["planned"], unfinished["measuring"]) == (3, 3, False)


def test_a_run_that_is_in_no_database_yet_has_a_status(place: Place) -> None:
    waiting = "20261119-120000-ffff"
    folder = a_run_folder(place.results, a_plan(), run_id=waiting)
    try:
        shown = place.do("status", waiting)
        assert (shown.returncode, f"run {waiting} was interrupted" in shown.stdout) == (0, True)
    finally:
        shutil.rmtree(folder.path)
