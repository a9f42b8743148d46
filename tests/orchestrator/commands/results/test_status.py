"""The state of a database, on the screen too, and the command that measures stale cells anew."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestrator.commands.results.status_command import (
    StaleResults,
    StatusReport,
    current_installation,
    print_status,
    remeasure_command,
    report_status,
)
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.source import SourceFolders, find_source
from orchestrator.screen.words.records import record_words
from orchestrator.store.query.runs import RunSummary
from orchestrator.store.query.state import GROUPED_AXES, Covered, Installation, Verdicts
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.docs.command_line import parse
from tests.orchestrator.conftest import Screen
from tests.orchestrator.images.conftest import tiny_checkout
from tests.support.command_line import complains
from tests.support.records import EXAMPLE_HOST, RECORDED_AT, a_record
from tests.support.results import a_stale_group
from tests.support.workplace import Workplace


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return tiny_checkout(tmp_path)


def test_an_image_is_outdated_once_its_files_have_changed(checkout: Path) -> None:
    source = find_source("cpu", SourceFolders.of(checkout))
    assert source is not None
    labels = {SOURCE_LABEL: source.fingerprint()}
    assert not current_installation(SourceFolders.of(checkout)).is_outdated("cpu", labels)
    (checkout / "runner" / "new.py").touch()
    assert current_installation(SourceFolders.of(checkout)).is_outdated("cpu", labels)


@pytest.mark.parametrize(("backend", "labels"), [("cpu", {}), ("mps", {SOURCE_LABEL: "sha256:0"})])
def test_nothing_is_outdated_that_cannot_be_compared(
    checkout: Path, backend: str, labels: dict[str, str]
) -> None:
    assert not current_installation(SourceFolders.of(checkout)).is_outdated(backend, labels)
    elsewhere = current_installation(SourceFolders.of(checkout / "no-checkout"))
    assert not elsewhere.is_outdated("cpu", {SOURCE_LABEL: "sha256:0"})


HERE = Installation(EXAMPLE_HOST, "0.1.0", lambda backend, labels: False)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two cells of one host, of which one was measured before its kernel changed."""
    folder = tmp_path / "results" / a_record().run_id
    folder.mkdir(parents=True)
    save_record(a_record(kernel="6.1"), folder)
    save_record(a_record(batch_size=8, recorded_at="2026-11-22T12:00:00Z"), folder)
    with Store.open(folder.parent / "benchmarks.duckdb") as store:
        store.merge([folder], words=record_words)
    return folder.parent


def test_everything_is_gathered(results: Path) -> None:
    database = results / "benchmarks.duckdb"
    status = report_status(results, database, HERE)
    assert (status.database, status.scratch) == (database, False)
    assert status.parquet_files == 2
    assert status.database_bytes == database.stat().st_size
    assert status.rows["benchmark_results"] == 2
    assert [run.counts for run in status.runs] == [{"ok": 2}]
    assert [group.changes for group in status.stale] == [("kernel 6.1, now 6.12.0",)]


def test_record_files_of_others_do_not_count(results: Path) -> None:
    other = results / "other.duckdb"
    Store.open(other).close()
    assert report_status(results, other, HERE).parquet_files == 0
    save_record(a_record(), results)
    assert report_status(results, results / "benchmarks.duckdb", HERE).parquet_files == 2


@pytest.mark.parametrize(
    ("planned_by", "command"),
    [
        ("orchestrator run matrix.yaml", "orchestrator run matrix.yaml --select 'cpu-*'"),
        ("orchestrator run m.yaml --select 'cpu-*'", "orchestrator run m.yaml --select 'cpu-*'"),
        ("orchestrator bench --model gpt2", "orchestrator bench --model gpt2"),
    ],
)
def test_what_was_typed_then_measures_anew(planned_by: str, command: str) -> None:
    assert remeasure_command(a_stale_group(planned_by=planned_by)) == command


def test_options_measure_anew_what_nobody_typed() -> None:
    assert remeasure_command(a_stale_group(planned_by=None)) == (
        "orchestrator bench --backend cpu --runtime torch --launcher process"
        " --model bert-tiny,gpt2 --precision fp32 --mode inference --scenario single_stream"
        " --batch-size 1,8 --sequence-length 128"
    )


def test_every_field_of_a_cell_is_an_option_that_bench_takes() -> None:
    values: dict[str, tuple[Any, ...]] = {
        "scenario": ("server",),
        "target_qps": (2.5, 20.0),
        "slo_ms": (100.0,),
        "image_size": (7,),
        "audio_seconds": (7,),
        "new_tokens": (7,),
        "threads": (7,),
        "training_precision": ("pure",),
        "workers": (7,),
    }
    group = a_stale_group(planned_by=None, axes=values)
    assert all(group.axes[axis] for axis in GROUPED_AXES)
    given = parse(remeasure_command(group).split()[1:])
    assert given["target_qps"] == ["2.5,20"]
    assert given["slo_ms"] == ["100"]
    for axis in ("image_size", "audio_seconds", "new_tokens", "threads", "workers"):
        assert given[axis] == ["7"]


@pytest.fixture
def damaged(measured: Workplace, tmp_path: Path) -> Path:
    """A copy of the database with one impossible value."""
    path = tmp_path / "damaged.duckdb"
    path.write_bytes(next(measured.folder.glob("results/*.duckdb")).read_bytes())
    with duckdb.connect(path) as connection:
        connection.execute(
            "UPDATE benchmark_results SET memory_peak_bytes = -1 WHERE batch_size = 1"
        )
    return path


def test_what_was_measured_is_clean(measured: Workplace) -> None:
    done = measured.do("database", "check")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("benchmarks.duckdb: clean, 1 note\n")


def test_errors_are_told_and_end_with_1(measured: Workplace, damaged: Path) -> None:
    done = measured.do("database", "check", "--database", str(damaged))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split()[:3] == ["impossible", "value", "error"]
    assert "memory_peak_bytes is -1" in done.stdout
    assert done.stdout.endswith(f"{damaged}: 1 error, 1 note\n")


def test_status_shows_the_database_and_the_verdicts_of_one_run(measured: Workplace) -> None:
    run_id = measured.run_folder.name
    status = json.loads(measured.do("status", "--json").stdout)
    (run,) = status["runs"]
    assert (run["run_id"], run["counts"]) == (run_id, {"failed": 1, "ok": 2})
    assert status["parquet_files"] == status["rows"]["benchmark_results"] == 3
    (covered,) = status["covered"]
    assert (covered["backend"], covered["best"], covered["results"]) == ("fake", "unverified", 3)
    assert run_id in measured.do("status").stdout
    for name in ("last", run_id):
        results = json.loads(measured.do("status", name, "--json").stdout)["results"]
        assert len(results) == 3


def test_an_unknown_run_has_no_status(measured: Workplace) -> None:
    complains(measured.do("status", "nobody"), 2, "'nobody' is not a run")


@pytest.mark.parametrize(
    "command", [["status"], ["status", "last"], ["database", "check"], ["query", "SELECT 1"]]
)
def test_without_a_database_there_is_nothing_to_tell(place: Workplace, command: list[str]) -> None:
    complains(place.do(*command), 6, "benchmarks.duckdb: there is no database yet")
    assert not (place.folder / "results").exists()


Shown = Callable[..., list[str]]
RUNS = (
    RunSummary("run-2", RECORDED_AT, None, 3, {"ok": 2, "lost": 1}, hostname="vm"),
    RunSummary("run-1", RECORDED_AT, RECORDED_AT, None, {}),
)
VERDICTS = (Verdicts("accelmatrix", False, {"lost": 1, "ok": 2}), Verdicts("timm", True, {"ok": 5}))
COVERED = (
    Covered("bert-tiny", "cpu", "ok", 3, 2),
    Covered("bert-tiny", "cuda", "failed", 1, 0),
    Covered("gpt2", "cpu", "verified only", 1, 0),
)


def stale(**changes: Any) -> StaleResults:
    group = a_stale_group(**changes)
    return StaleResults(**vars(group), command=remeasure_command(group))


def a_status(**changes: Any) -> StatusReport:
    values: dict[str, Any] = {
        "database": Path("a.duckdb"),
        "results": Path("results"),
        "scratch": False,
        "database_bytes": 4 << 20,
        "parquet_files": 12,
        "parquet_bytes": 3 << 10,
        "rows": {"benchmark_runs": 15_402, "replay_jobs": 0},
        "verdicts": VERDICTS,
        "covered": COVERED,
        "runs": RUNS,
        "contradicted": 0,
        "stale": (stale(),),
    }
    return StatusReport(**values | changes)


@pytest.fixture
def shown(screen: Screen) -> Shown:
    """The lines of a status with these changes."""
    return lambda **changes: screen.lines(print_status, a_status(**changes))


def below(lines: list[str], heading: str, count: int) -> list[list[str]]:
    """The words of so many lines, the first of which begins with the heading."""
    first = next(number for number, line in enumerate(lines) if line.startswith(heading))
    return [line.split() for line in lines[first : first + count]]


def test_size_verdicts_coverage_and_runs_are_tables(shown: Shown) -> None:
    lines = shown()
    assert lines[:3] == [
        "database: a.duckdb, 4MiB",
        "Parquet: 12 files of its runs in results, 3KiB",
        "rows: 15,402 in benchmark_runs",
    ]
    assert below(lines, "source ", 3) == [
        ["source", "results", "ok", "lost"],
        ["accelmatrix", "3", "2", "1"],
        ["timm", "(simulated)", "5", "5", "–"],
    ]
    assert below(lines, "model ", 3) == [
        ["model", "cpu", "cuda"],
        ["bert-tiny", "ok", "failed"],
        ["gpt2", "verified", "only", "–"],
    ]
    assert below(lines, "run ", 3) == [
        ["run", "started", "planned", "host", "verdicts"],
        ["run-2", "2026-11-21", "12:00", "3", "vm", "2", "ok,", "1", "lost"],
        ["run-1", "2026-11-21", "12:00", "–", "–"],
    ]


def test_a_stale_group_says_what_changed_and_what_to_type(shown: Shown) -> None:
    assert shown()[-3:] == [
        "stale: 2 cells",
        "2 cells such as cpu-bert-tiny-fp32-b1-s128-inference (torch on example-host, launcher"
        " process; 2026-11-21): torch 2.12.0, now 2.13.0",
        "  orchestrator run matrix.yaml --select 'cpu-*'",
    ]
    one = shown(stale=(stale(cells=1),))[-2]
    assert one.startswith("cpu-bert-tiny-fp32-b1-s128-inference (torch on")
    nothing = "stale: nothing, as far as can be told without measuring"
    assert shown(stale=())[-1] == nothing


def test_long_lists_are_cut_and_say_so(shown: Shown) -> None:
    covered = tuple(Covered(f"model-{n:03}", "cpu", "ok", 1, 1) for n in range(51))
    lines = shown(runs=RUNS[:1] * 13, verdicts=(), covered=covered, stale=(stale(),) * 12)
    assert "… and 3 more runs; --json has them all" in lines
    assert "… and 1 more models; --json has them all" in lines
    assert lines[-1] == "… and 2 more stale groups; --json has them all"
    assert sum(line.startswith("run-2") for line in lines) == 10
