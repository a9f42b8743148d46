import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.defaults import DATABASE_NAME, RESULTS
from orchestrator.render.results import print_results, print_runs
from orchestrator.store import ResultRow, RunSummary

Capture = pytest.CaptureFixture[str]
STARTED = datetime(2026, 11, 21, 12, 30, 5, tzinfo=UTC)
RUNS = [
    RunSummary("run-2", STARTED, None, 3, {"ok": 2, "lost": 1}),
    RunSummary("run-1", STARTED, STARTED, None, {}),
]


def a_row(cell_id: str, **changes: Any) -> ResultRow:
    values: dict[str, Any] = {
        "cell_id": cell_id,
        "model": "bert-tiny",
        "backend": "cpu",
        "runtime": "torch",
        "precision": "fp32",
        "batch_size": 1,
        "sequence_length": 128,
        "mode": "inference",
        "status": "ok",
        "proof": "proven",
        "reason": None,
        "warnings": None,
        "throughput": 1234.5,
        "latency_median_ms": 0.81,
        "latency_p90_ms": None,
        "load_time_s": 0.25,
        "memory_mb": 301.2,
    }
    return ResultRow(**values | changes)


ROWS = [
    a_row("cell-1"),
    a_row("cell-2", status="timeout", reason="not done after 5 s", proof="none", throughput=None),
]


def test_results_are_a_table_with_reasons_sums_and_next_steps(capsys: Capture) -> None:
    print_results(ROWS, "run-1", Path("elsewhere.duckdb"), as_json=False)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].split("  ")[0] == "cell"
    assert lines[1].split() == [
        *("cell-1", "ok", "0.81", "–", "1,234", "0.25", "301", "proven"),
    ]
    assert "cell-2: timeout: not done after 5 s" in lines
    assert "run run-1: 1 ok, 1 timeout" in lines
    assert "database: elsewhere.duckdb" in lines
    commands = lines[lines.index("next:") + 1 :]
    assert len(commands) == 3
    assert all(command.endswith("--database elsewhere.duckdb") for command in commands)


def test_the_default_database_need_not_be_named(capsys: Capture) -> None:
    print_results(ROWS, "run-1", RESULTS / DATABASE_NAME, as_json=False)
    assert "--database" not in capsys.readouterr().out


def test_warnings_stand_with_their_cell(capsys: Capture) -> None:
    rows = [a_row("cell-1", warnings=["too few iterations: raise them", "busy host: wait"])]
    print_results(rows, "run-1", RESULTS / DATABASE_NAME, as_json=False)
    assert "cell-1: too few iterations: raise them; busy host: wait" in capsys.readouterr().out


def test_the_commands_that_are_offered_exist_and_parse(capsys: Capture) -> None:
    print_results(ROWS, "run-1", RESULTS / DATABASE_NAME, as_json=False)
    commands = capsys.readouterr().out.partition("next:\n")[2].splitlines()
    words = [command.split()[1] for command in commands]
    assert set(words) <= {"query", "bench", "run", "plan", "status"}
    assert all(command.count('"') in {0, 2} for command in commands)


def test_results_as_json_are_whole(capsys: Capture) -> None:
    print_results(ROWS, "run-1", Path("a.duckdb"), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["run_id"], data["database"]) == ("run-1", "a.duckdb")
    assert [row["status"] for row in data["results"]] == ["ok", "timeout"]
    assert data["results"][0]["throughput"] == 1234.5


def test_runs_are_a_table(capsys: Capture) -> None:
    print_runs(RUNS, as_json=False)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].split() == ["run", "started", "planned", "verdicts"]
    assert lines[1].split(maxsplit=4) == ["run-2", "2026-11-21", "12:30", "3", "2 ok, 1 lost"]
    assert lines[2].split() == ["run-1", "2026-11-21", "12:30", "–"]


def test_runs_as_json_are_whole(capsys: Capture) -> None:
    print_runs(RUNS, as_json=True)
    first, second = json.loads(capsys.readouterr().out)
    assert first["counts"] == {"ok": 2, "lost": 1}
    assert datetime.fromisoformat(first["started_at"]) == STARTED
    assert (second["planned"], first["finished_at"]) == (None, None)
