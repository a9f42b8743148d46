"""Promises of reports and sites: what is in them; nothing in a database steers the page."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from re import findall
from typing import Any

import pytest

from analysis.charts.drawing import vega_script
from orchestrator.commands.report.answer import report_everything
from orchestrator.commands.report.output import require_site, write_site
from orchestrator.commands.results.run_report import report_runs
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.words.records import record_words
from orchestrator.store.query.ask import query
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.orchestrator.commands.conftest import EARLIER, HOSTILE, MANY
from tests.support.command_line import call
from tests.support.records import RECORDED_AT, a_record

slow = pytest.mark.slow
TOPICS = (
    "run",
    *(pytest.param(topic, marks=slow) for topic in ("performance", "hardware", "scaling")),
    pytest.param("compatibility", marks=slow),
    f"regression --baseline {EARLIER['run_id']}",
)


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def pages(reported: Path) -> Callable[[str], str]:
    return cache(lambda topic: report(reported, *topic.split(), "--output", "-"))


@pytest.fixture(scope="module")
def tables(reported: Path) -> dict[str, Any]:
    """The tables of a report as JSON, by name."""
    data = json.loads(report(reported, "run", "--json"))
    return {table["name"]: table for one in data["sections"] for table in one["tables"]}


def data_of(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match[1])


@pytest.mark.representatives(2)
@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_holds_all_it_needs_and_nothing_hostile(
    pages: Callable[[str], str], topic: str
) -> None:
    page = pages(topic)
    reader = Reader(page)
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"img", "b", "iframe", "link", "base", "form"}
    links = [attributes.get("href") or "" for _, attributes in reader.elements]
    assert all(link.startswith("#") for link in links if link)
    assert not any(name.startswith("on") for _, found in reader.elements for name in found)
    assert not any("src" in attributes for _, attributes in reader.elements)
    assert "\u202e" not in page
    (policy,) = [
        attributes["content"]
        for _, attributes in reader.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_no_script_of_ours_can_end_early() -> None:
    assert "</script" not in vega_script()


@pytest.mark.slow
def test_a_number_opens_its_interval_grade_and_durations(
    pages: Callable[[str], str], reported: Path
) -> None:
    data = data_of(pages("run"))
    (median,) = query(
        reported,
        "SELECT latency_median_low_ms AS low, latency_median_high_ms AS high FROM"
        " benchmark_performance WHERE batch_size = 4 AND runtime = 'torch'",
    ).to_pylist()
    detail = next(one for one in data["details"] if one["cell"].startswith("cpu-bert-tiny-fp32-b4"))
    ends = " to ".join(f"{median[end]:.3g}" for end in ("low", "high"))
    assert ends in detail["intervals"].values()
    facts = dict(map(tuple, detail["facts"]))
    assert facts["grade"] == "B"
    assert facts["proof"] == "proven"
    assert detail["timed_count"] == MANY
    assert len(detail["timed"]) == 64
    assert max(detail["timed"]) == pytest.approx(16 * 1.06, rel=1e-3)
    assert detail["warm"] == pytest.approx([32.0] * 3)


def test_failures_have_remedies_and_graphs_tell_how_they_were_made(tables: dict[str, Any]) -> None:
    failures = {row["kind"]: row for row in tables["failures"]["rows"]}
    assert failures.keys() == {"out_of_memory", "wrong"}
    assert failures["out_of_memory"]["reason"] == HOSTILE
    assert all(row["remedy"] for row in failures.values())
    assert [row["graph_remedy"] for row in tables["graphs"]["rows"]] == [
        "dynamic shapes failed, static shape"
    ]


def test_a_report_on_regressions_tells_sizes_candidates_and_what_is_left(reported: Path) -> None:
    data = json.loads(
        report(reported, "regression", "--baseline", str(EARLIER["run_id"]), "--json")
    )
    known = {table["name"]: table["rows"] for one in data["sections"] for table in one["tables"]}
    worse = next(row for row in known["changes"] if "-b256-" in row["cell_id"])
    assert (worse["verdict"], worse["before"], worse["after"]) == (
        "regression",
        pytest.approx(4, rel=1e-3),
        pytest.approx(5, rel=1e-3),
    )
    assert worse["ratio"] == pytest.approx(1.25)
    assert worse["ratio_low"] < worse["ratio"] < worse["ratio_high"]
    assert f"torch 2.13.0, now {HOSTILE}" in {row["changes"] for row in known["beside"]}
    assert ["-b512-" in row["cell_id"] for row in known["unchanged"]] == [True]
    refused = {row["cell_id"].split("-")[4]: row["reason"] for row in known["refused"]}
    assert refused["b1024"].startswith("only in 2026")
    charts = [chart for one in data["sections"] for chart in one["charts"]]
    assert charts[1]["title"].startswith("Regression, +25 % (2")
    assert any("docs/regressions.md" in note for one in data["sections"] for note in one["notes"])


@slow
def test_foreign_files_need_no_database(tmp_path: Path) -> None:
    (tmp_path / "timm.csv").write_text(
        "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,param_count\n"
        "resnet50,1000.0,32.0,32,224,25.6\nresnet18,2000.0,16.0,32,224,11.7\n"
    )
    arguments = ("report", "run", "timm.csv", "--format", "markdown")
    done = call(*arguments, folder=tmp_path, environment={})
    assert done.returncode == 0, done.stderr
    assert "2 of 2 results were measured by others" in done.stdout
    assert "| resnet50 |" in done.stdout
    assert "limit" not in done.stdout
    cut = call(*arguments, "--limit", "1", folder=tmp_path, environment={}).stdout
    assert "1 of 2 results, which is the limit: `--limit 2` shows all" in cut
    assert "older" not in cut
    assert {path.name for path in tmp_path.iterdir()} == {"timm.csv"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("startup", 3, "holds nothing for a report on startup"),
        ("performance last", 2, "did you mean --run last?"),
        ("run last --run last", 2, "names a run already"),
        ("scaling --output report.pdf", 2, "its name says no format"),
        ("regression", 2, "report regression: --baseline is missing"),
        ("hardware --baseline last", 2, "did you mean `report regression --baseline …`?"),
    ],
)
def test_what_cannot_be_reported_says_why(
    reported: Path, tmp_path: Path, arguments: str, code: int, message: str
) -> None:
    words = ("report", *arguments.split(), "--database", str(reported))
    done = call(*words, folder=tmp_path, environment={})
    assert done.returncode == code
    assert message in done.stderr


def report(database: Path, *words: str, folder: Path | None = None) -> str:
    """What `report` prints on stdout."""
    arguments = ("report", *words, "--database", str(database))
    done = call(*arguments, folder=folder or database.parent, environment={})
    assert done.returncode == 0, done.stderr
    return done.stdout


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
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
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
    with Store.open_readonly(results / "benchmarks.duckdb") as store:
        yield store.path


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
    report = report_runs(RUN.format(hour), database).runs[0]
    assert [row.grade for row in report.results] == [grade]
    assert [change.then.run_id for change in report.changes] == changed
    assert [change.is_contradiction for change in report.changes] == contradicts
    assert report.command == (COMMAND if hour == 10 else None)


def test_the_newest_run_is_last_and_others_must_be_there(database: Path) -> None:
    assert report_runs("last", database).runs[0].run_id == RUN.format(13)
    with pytest.raises(UsageError):
        report_runs("never", database)


@pytest.mark.slow
def test_the_first_page_leads_to_every_other(
    comparable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "site"
    write_site(folder, report_everything(SelectionRequest(comparable / "benchmarks.duckdb")))
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
        require_site(folder, force=force)


def test_a_database_without_results_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with pytest.raises(NothingToDo, match="holds nothing that a page could show"):
        write_site(folder, [])
    assert not folder.exists()
