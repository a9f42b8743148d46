import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.results.status import StaleResults, StatusReport, remeasure_command
from orchestrator.render.status import print_status
from orchestrator.store import VIEWS, Covered, RunSummary, Verdicts
from tests.support.records import RECORDED_AT
from tests.support.results import a_stale_group

Capture = pytest.CaptureFixture[str]
RUNS = (
    RunSummary("run-2", RECORDED_AT, None, 3, {"ok": 2, "lost": 1}),
    RunSummary("run-1", RECORDED_AT, RECORDED_AT, None, {}),
)
VERDICTS = (
    Verdicts("accelmatrix", False, {"lost": 1, "ok": 2}),
    Verdicts("timm", True, {"ok": 5}),
)
COVERED = (
    Covered("bert-tiny", "cpu", "proven", 3, 2),
    Covered("bert-tiny", "cuda", "failed", 1, 0),
    Covered("gpt2", "cpu", "untimed", 1, 0),
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
        "rows": {"benchmark_runs": 2, "replay_jobs": 0},
        "verdicts": VERDICTS,
        "covered": COVERED,
        "runs": RUNS,
        "stale": (stale(),),
    }
    return StatusReport(**values | changes)


def shown(capsys: Capture, status: StatusReport) -> list[str]:
    print_status(status, as_json=False)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_size_and_rows_come_first(capsys: Capture) -> None:
    assert shown(capsys, a_status())[:3] == [
        "database: a.duckdb, 4MiB",
        "Parquet: 12 files of its runs in results, 3KiB",
        "rows: 2 in benchmark_runs",
    ]


def test_a_scratch_database_says_so(capsys: Capture) -> None:
    assert shown(capsys, a_status(scratch=True))[0].startswith("scratch database: a.duckdb")


def test_verdicts_are_told_by_source(capsys: Capture) -> None:
    lines = shown(capsys, a_status())
    head = lines.index("source            results  ok  lost")
    assert lines[head + 1].split() == ["accelmatrix", "3", "2", "1"]
    assert lines[head + 2].split() == ["timm", "(simulated)", "5", "5", "–"]


def test_runs_are_a_table(capsys: Capture) -> None:
    lines = shown(capsys, a_status())
    head = next(place for place, line in enumerate(lines) if line.startswith("run "))
    assert lines[head].split() == ["run", "started", "planned", "verdicts"]
    assert lines[head + 1].split(maxsplit=4) == [
        "run-2",
        "2026-11-21",
        "12:00",
        "3",
        "2 ok, 1 lost",
    ]
    assert lines[head + 2].split() == ["run-1", "2026-11-21", "12:00", "–"]


def test_runs_of_ours_come_before_imports(capsys: Capture) -> None:
    imported = RunSummary("import-1", RECORDED_AT, None, 3, {"ok": 3}, source="timm")
    lines = shown(capsys, a_status(runs=(imported, *RUNS)))
    head = next(place for place, line in enumerate(lines) if line.startswith("run "))
    told = [line.split()[0] for line in lines[head + 1 : head + 4]]
    assert told == ["run-2", "run-1", "import-1"]


def test_models_and_backends_are_a_matrix(capsys: Capture) -> None:
    lines = shown(capsys, a_status())
    head = next(place for place, line in enumerate(lines) if line.startswith("model "))
    assert [line.split() for line in lines[head : head + 3]] == [
        ["model", "cpu", "cuda"],
        ["bert-tiny", "proven", "failed"],
        ["gpt2", "untimed", "–"],
    ]


def test_a_stale_group_says_what_changed_and_what_to_type(capsys: Capture) -> None:
    assert shown(capsys, a_status())[-3:] == [
        "stale: 2 cells",
        "2 cells such as cpu-bert-tiny-fp32-b1-s128-inference (torch on example-host, launcher"
        " process; 2026-11-21): torch 2.12.0, now 2.13.0",
        "  orchestrator run matrix.yaml --select 'cpu-*'",
    ]


def test_one_stale_cell_stands_for_itself(capsys: Capture) -> None:
    lines = shown(capsys, a_status(stale=(stale(cells=1),)))
    assert lines[-2].startswith("cpu-bert-tiny-fp32-b1-s128-inference (torch on")


def test_nothing_stale_is_said(capsys: Capture) -> None:
    last = shown(capsys, a_status(stale=()))[-1]
    assert last == "stale: nothing, as far as can be told without measuring"


def test_long_lists_are_cut_and_say_so(capsys: Capture) -> None:
    covered = tuple(Covered(f"model-{n:03}", "cpu", "proven", 1, 1) for n in range(51))
    lines = shown(
        capsys,
        a_status(
            runs=RUNS[:1] * (13),
            verdicts=(),
            covered=covered,
            stale=(stale(),) * (12),
        ),
    )
    assert "… and 3 more runs; --json has them all" in lines
    assert "… and 1 more models; --json has them all" in lines
    assert lines[-1] == "… and 2 more stale groups; --json has them all"
    assert sum(line.startswith("run-2") for line in lines) == 10


def test_imports_alone_say_where_to_look(capsys: Capture) -> None:
    told = "models: all 5 results are imported; ask `imported_results` for theirs"
    assert told in shown(capsys, a_status(verdicts=VERDICTS[1:], covered=()))
    assert "imported_results" in {view.name for view in VIEWS}
    for status in (a_status(), a_status(verdicts=(), covered=())):
        assert not any("imported" in line for line in shown(capsys, status))


def test_an_empty_database_is_shown(capsys: Capture) -> None:
    lines = shown(capsys, a_status(runs=(), stale=(), rows={}, verdicts=(), covered=()))
    assert "rows: none" in lines


def test_json_has_it_all(capsys: Capture) -> None:
    print_status(a_status(), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["database"], data["database_bytes"], data["parquet_files"]) == (
        *("a.duckdb", 4 << 20, 12),
    )
    assert data["rows"] == {"benchmark_runs": 2, "replay_jobs": 0}
    assert data["verdicts"][1] == {"source": "timm", "simulated": True, "counts": {"ok": 5}}
    assert data["covered"][1]["best"] == "failed"
    first, second = data["runs"]
    assert (first["counts"], first["source"]) == ({"ok": 2, "lost": 1}, "accelmatrix")
    assert datetime.fromisoformat(first["started_at"]) == RECORDED_AT
    assert (second["planned"], first["finished_at"]) == (None, None)
    (stale,) = data["stale"]
    assert stale["changes"] == ["torch 2.12.0, now 2.13.0"]
    assert stale["axes"]["batch_size"] == [1, 8]
    assert stale["command"] == "orchestrator run matrix.yaml --select 'cpu-*'"
