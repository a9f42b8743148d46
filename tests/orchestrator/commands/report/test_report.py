"""The report of a run, from the database."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from re import findall

import pytest

from orchestrator.commands.report.answer import report_everything
from orchestrator.commands.report.command import Site
from orchestrator.commands.results.run_report import report_run
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.words.records import record_words
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.comparable import write_comparable
from tests.support.records import RECORDED_AT, a_record

RUN = "20261121-{}0000-abcd"
COMMAND = "orchestrator bench --model bert-tiny"


def measured(hour: int, factor: int = 1, **changes: object) -> Record:
    durations = [2_000_000 * factor, 3_000_000 * factor, 4_000_000 * factor]
    moment = RECORDED_AT + timedelta(hours=hour)
    ends = {
        "latency_median_low_s": 0.00297 * factor,
        "latency_median_high_s": 0.00303 * factor,
        "latency_precision": 0.01,
    }
    facts = {"run_id": RUN.format(hour), "recorded_at": moment, "grade": "B", **ends}
    return a_record(durations_ns=durations, **facts | changes)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of a cell: twice the same, then three times slower; then with new libraries."""
    records = [
        measured(10),
        measured(11),
        measured(12, 3),
        measured(13, 9, libraries={"torch": "9"}),
    ]
    results = tmp_path_factory.mktemp("results")
    for record in records:
        (results / record.run_id).mkdir()
        save_record(record, results / record.run_id)
    with Store.open(results / "benchmarks.duckdb") as store:
        run = Run(run_id=RUN.format(10), started_at=RECORDED_AT, command=COMMAND)
        store.merge([results], run, words=record_words)
    return results / "benchmarks.duckdb"


@pytest.mark.parametrize(
    ("hour", "grade", "changed", "contradicts"),
    [
        (10, "B", [], []),
        (11, "D", [], []),
        (12, "D", [RUN.format(11)], [True]),
        (13, "B", [RUN.format(12)], [False]),
    ],
    ids=["first", "contradicted", "contradicts", "other libraries"],
)
def test_results_that_contradict_each_other_are_of_grade_d(
    database: Path, hour: int, grade: str, changed: list[str], contradicts: list[bool]
) -> None:
    report = report_run(RUN.format(hour), database)
    assert [row.grade for row in report.results] == [grade]
    assert [change.then.run_id for change in report.changes] == changed
    assert [change.is_contradiction for change in report.changes] == contradicts
    assert report.command == (COMMAND if hour == 10 else None)


def test_the_newest_run_is_last_and_others_must_be_there(database: Path) -> None:
    assert report_run("last", database).run_id == RUN.format(13)
    with pytest.raises(UsageError):
        report_run("never", database)


@pytest.fixture
def selected(tmp_path: Path) -> SelectionRequest:
    write_comparable(tmp_path)
    return SelectionRequest(tmp_path / "benchmarks.duckdb")


@pytest.mark.slow
def test_the_first_page_leads_to_every_other(
    selected: SelectionRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "site"
    Site(folder).write(report_everything(selected))
    pages = {path.name for path in folder.iterdir()}
    index = (folder / "index.html").read_text("utf-8")
    assert {*findall(r'href="([a-z]+\.html)"', index)} == pages - {"index.html"}
    assert {"performance.html", "compatibility.html", "run.html"} <= pages
    assert f"leads to {len(pages) - 1} pages" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("prepare", "force", "message"),
    [
        (lambda folder: folder.touch(), False, "exists"),
        (lambda folder: (folder.mkdir(), (folder / "index.html").touch()), False, "exists"),
        (lambda folder: (folder.mkdir(), (folder / "mine").touch()), True, "holds mine"),
    ],
)
def test_what_is_no_site_is_not_replaced(
    tmp_path: Path, prepare: Callable[[Path], object], force: bool, message: str
) -> None:
    folder = tmp_path / "site"
    prepare(folder)
    with pytest.raises(UsageError, match=message):
        Site(folder).require(force=force)


def test_a_database_without_results_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with pytest.raises(NothingToDo, match="holds nothing that a page could show"):
        Site(folder).write([])
    assert not folder.exists()
