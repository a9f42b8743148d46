"""The state of a database on the screen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.results.status_command import (
    StaleResults,
    StatusReport,
    print_status,
    remeasure_command,
)
from orchestrator.store.query.results import RunSummary
from orchestrator.store.query.state import Covered, Verdicts
from tests.orchestrator.conftest import Screen
from tests.support.records import RECORDED_AT
from tests.support.results import a_stale_group

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
