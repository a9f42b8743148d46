"""Sides of a comparison: what each word opens, what is refused, and what a poorer file decides."""

import csv
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from analysis.results.selection import Side
from orchestrator.commands.compare.answer import compare_run_pair
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import open_sides
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.screen.words.records import record_words
from orchestrator.store.health.decisions import KnownStep, accept_changes
from orchestrator.store.health.snapshots import take_snapshot
from orchestrator.store.query.export import ExportOptions, export_topic
from orchestrator.store.store import Store
from runner.contract.errors import BenchError, NothingToDo, StoreError, UsageError
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_record

FIRST, SECOND = "20261118-120000-aaaa", "20261119-120000-bbbb"
APART, LAST = "20261120-120000-cccc", "20261121-120000-dddd"
HOST, OTHER_HOST = "example-host", "other-host"
CELL = "cpu-bert-tiny-fp32-b{}-s128-inference"
LAUNCHES = 6
"""Launches of each result, which suffice for a verdict."""
ELSEWHERE = {"hostname": OTHER_HOST, "cpu_model": "Other CPU", "device_name": "Other CPU"}


def a_result(run_id: str, day: int, scale: float = 1.0, **changes: Any) -> Record:
    """A result of six quiet launches of two iterations."""
    spread = (0.998, 0.999, 1.0, 1.001, 1.002, 1.0005)
    medians = [0.010 * scale * factor for factor in spread]
    durations = [round(median * 1e9) for median in medians for _ in range(2)]
    middle = fmean(medians)
    rounds = {"rounds": LAUNCHES, "round_iterations": [2] * LAUNCHES, "round_medians": medians}
    return a_record(
        run_id=run_id,
        recorded_at=RECORDED_AT - timedelta(days=3 - day),
        durations_ns=durations,
        latency_median_s=middle,
        latency_median_low_s=middle * 0.998,
        latency_median_high_s=middle * 1.002,
        latency_precision=0.002,
        grade="C",
        **rounds | changes,
    )


RUNS: Mapping[str, list[Record]] = {
    FIRST: [a_result(FIRST, 0), a_result(FIRST, 0, batch_size=4)],
    SECOND: [a_result(SECOND, 1), a_result(SECOND, 1, **ELSEWHERE, batch_size=2)],
    APART: [a_result(APART, 2, batch_size=8)],
    LAST: [a_result(LAST, 3, 1.2), a_result(LAST, 3, batch_size=4)],
}


@dataclass(frozen=True)
class Place:
    """A folder with a database of four runs, and what somebody may have made of the first two."""

    folder: Path
    results: Path
    database: Path

    @property
    def selected(self) -> SelectionRequest:
        return SelectionRequest(self.database)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("sides")
    results = folder / "results"
    database = results / "benchmarks.duckdb"
    write_runs(database, results / "loose", FIRST, SECOND)
    take_snapshot(database, results / "snapshots", "release", None)
    write_bundle(database, [FIRST], folder / "first.zip", force=False)
    for name in ("table.csv", "table.json", "table.parquet"):
        export_topic(database, ExportOptions("performance", folder / name))
    for topic in ("hardware", "raw"):
        export_topic(database, ExportOptions(topic, folder / f"{topic}.csv"))
    by = ("backend", "batch_size")
    export_topic(database, ExportOptions("performance", folder / "partitioned", partition_by=by))
    shutil.copy(database, folder / "other.duckdb")
    shutil.copytree(results / "loose" / FIRST, folder / "records")
    write_runs(database, results / "loose", APART, LAST)
    export_topic(database, ExportOptions("performance", folder / "later.csv"))
    (folder / FIRST).mkdir()
    (folder / "notes.txt").write_text("nothing")
    (folder / "empty").mkdir()
    (folder / "dangling").symlink_to("nothing")
    with pytest.MonkeyPatch.context() as patch, Store.open_readonly(database):
        patch.chdir(folder)
        yield Place(folder, results, database)


def write_runs(database: Path, records: Path, *runs: str) -> None:
    """Save the records of these runs, and merge them."""
    for run in runs:
        for number, record in enumerate(RUNS[run]):
            (records / run / str(number)).mkdir(parents=True)
            save_record(record, records / run / str(number))
    with Store.open(database) as store:
        store.merge([records / run for run in runs], words=record_words).require_complete()


def results_of(side: Side) -> set[str]:
    """The ids of the runs of its results, each with the batch."""
    sql = f"SELECT run_id || ' b' || batch_size AS name FROM {side.selection.relation} r"
    return {row["name"] for row in side.source.arrow(sql).to_pylist()}


OF_FIRST = {f"{FIRST} b1", f"{FIRST} b4"}
OF_BOTH = {f"{SECOND} b1", f"{FIRST} b4", f"{SECOND} b2"}
"""The newest of each series of the first two runs."""


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("word", "opened"),
    [
        ("last", {f"{SECOND} b1", f"{SECOND} b2"}),
        ("last~1", {f"{SECOND} b1", f"{SECOND} b2"}),
        ("last~2", OF_FIRST),
        ("release", OF_BOTH),
        ("first.zip", OF_FIRST),
        pytest.param("./records", OF_FIRST, marks=pytest.mark.slow),
        pytest.param("other.duckdb", OF_BOTH, marks=pytest.mark.slow),
        ("table.csv", OF_BOTH),
        pytest.param("partitioned", OF_BOTH, marks=pytest.mark.slow),
        (HOST, {f"{SECOND} b1", f"{FIRST} b4", f"{APART} b8"}),
        (FIRST, OF_FIRST),
    ],
)
def test_a_word_opens_a_baseline(place: Place, word: str, opened: set[str]) -> None:
    before = place.database.read_bytes()
    with open_sides(place.selected, word, "last") as sides:
        assert results_of(sides.base) == opened
        assert results_of(sides.run) == {f"{LAST} b1", f"{LAST} b4"}
        assert (sides.base.lacks is None) is not (word.startswith(("table", "part")))
    assert place.database.read_bytes() == before


@pytest.mark.parametrize(
    ("word", "opened"),
    [
        ("last~1", {f"{APART} b8"}),
        ("table.csv", OF_BOTH),
        (HOST, {f"{LAST} b1", f"{LAST} b4", f"{APART} b8"}),
    ],
)
def test_a_word_opens_a_run(place: Place, word: str, opened: set[str]) -> None:
    with open_sides(place.selected, OTHER_HOST, word) as sides:
        assert results_of(sides.run) == opened
        assert results_of(sides.base) == {f"{SECOND} b2"} - opened


def test_filters_hold_for_both_sides(place: Place) -> None:
    selected = SelectionRequest(place.database, filters={"batch_size": 4})
    with open_sides(selected, "release", "last") as sides:
        assert results_of(sides.base) == {f"{FIRST} b4"}
        assert results_of(sides.run) == {f"{LAST} b4"}


@pytest.mark.representatives(6)
@pytest.mark.parametrize(
    ("base", "run", "error", "message", "hint"),
    [
        ("lsat", "last", UsageError, "no run, snapshot, file or host; did you mean last?", LAST),
        ("relaese", "last", UsageError, "did you mean release?", "a side is `last`"),
        ("frist.zip", "last", UsageError, "no such file or folder; did you mean first.zip", ""),
        ("x" * 5_000, "last", UsageError, "is no run", ""),
        ("last", "last~9", UsageError, "last~9: the database holds 4 runs", "`last~3`"),
        ("last~3", "last", UsageError, "last~3: 2 runs before", "`last~2`"),
        (LAST, "last", UsageError, f"both sides are {LAST}", "status"),
        ("release", SECOND, UsageError, f"holds the very results of {SECOND}", "`last`"),
        ("results/benchmarks.duckdb", "last", UsageError, "whose runs are compared", "snapshot"),
        ("dangling", "last", UsageError, "a link that leads nowhere", ""),
        ("notes.txt", "last", UsageError, "holds no results", "a side is"),
        (
            "hardware.csv",
            "last",
            UsageError,
            "no table of results: it lacks run_id",
            "export performance",
        ),
        ("last", APART, NothingToDo, "no run before", "measure the same cells again"),
        ("empty", "last", NothingToDo, "holds no record", ""),
    ],
)
def test_what_is_no_side_is_refused_with_help(
    place: Place, base: str, run: str, error: type[BenchError], message: str, hint: str
) -> None:
    with pytest.raises(error) as refusal, open_sides(place.selected, base, run):
        pass
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 400
    assert hint in (refusal.value.hint or "")


@pytest.mark.slow
def test_files_are_compared_without_a_database(place: Place, tmp_path: Path) -> None:
    nowhere = SelectionRequest(tmp_path / "benchmarks.duckdb")
    with open_sides(nowhere, "first.zip", "table.csv") as sides:
        assert results_of(sides.run) == OF_BOTH - OF_FIRST
    assert not nowhere.database.exists()
    with pytest.raises(StoreError, match="there is no database"), open_sides(nowhere, "x", "last"):
        pass


def impossible_table(folder: Path) -> Path:
    """A table with a median above its interval's end."""
    return altered(folder, "latency_median_high_ms", "0.001")


def altered(folder: Path, column: str, value: str) -> Path:
    """The table with another value in the first row."""
    with Path("table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0][column] = value
    path = folder / f"{column}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (impossible_table, "interval out of order"),
        (lambda folder: altered(folder, "grade", "Z"), "grade is none of A, B, C, D"),
        (lambda folder: altered(folder, "backend", "fake"), "no device made it"),
    ],
)
def test_what_cannot_be_believed_is_refused_as_a_whole(
    place: Place, tmp_path: Path, make: Any, message: str
) -> None:
    path = make(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(StoreError, match=message), open_sides(place.selected, str(path), "last"):
        pass
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


@pytest.mark.parametrize("word", ["last~2", "release"])
def test_records_decide(place: Place, word: str) -> None:
    answer = judge_regressions(RegressionRequest(place.selected, word))
    verdicts = {one.cell_id: one.verdict for one in answer.judgements.judgements}
    assert verdicts[CELL.format(1)] == "regression"
    assert verdicts[CELL.format(4)] == "inconclusive", "grade C shows no equality within 5 %"
    outcomes = {one.outcome for one in answer.judgements.judgements}
    assert {one and (one.kind, one.because) for one in outcomes} >= {
        ("worse", None),
        ("undecided", "grade_allows"),
    }
    assert answer.exit_code == 7


@pytest.mark.slow
def test_what_a_table_cannot_decide_names_the_bundle(place: Place, tmp_path: Path) -> None:
    nowhere = SelectionRequest(tmp_path / "benchmarks.duckdb", filters={"batch_size": 4})
    answer = judge_regressions(RegressionRequest(nowhere, "table.csv", "later.csv"))
    (judgement,) = answer.judgements.judgements
    assert judgement.verdict == "inconclusive"
    assert "`orchestrator export --bundle FILE`" in judgement.reason


@pytest.mark.slow
def test_what_was_accepted_here_holds_for_a_run_from_elsewhere(
    place: Place, tmp_path: Path
) -> None:
    database = Path(shutil.copy(place.database, tmp_path))
    write_bundle(database, [LAST], tmp_path / "last.zip", force=False)
    step = KnownStep(LAST, (CELL.format(1),), "a new kernel", RECORDED_AT, None)
    accept_changes(database, step)
    request = RegressionRequest(SelectionRequest(database), FIRST, str(tmp_path / "last.zip"))
    reasons = {one.cell_id: one.reason for one in judge_regressions(request).judgements.judgements}
    assert "a new kernel" in reasons[CELL.format(1)]


def test_a_table_is_compared_on_the_machine_that_it_names(place: Place) -> None:
    pair = compare_run_pair(place.selected, "table.parquet", "last")
    assert len(pair.cells) == 2
    assert pair.not_compared == {}
    assert not any("missing" in change for change in pair.changes)
