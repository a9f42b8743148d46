"""Runs that a policy selects for deletion."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.results.retention import RetentionPolicy, runs_to_delete
from runner.contract.errors import UsageError


def chosen(results: Path, **conditions: Any) -> list[str]:
    policy = RetentionPolicy(**conditions)
    return [run.run_id for run in runs_to_delete(results, results / "benchmarks.duckdb", policy)]


def test_the_newest_are_kept(finished_results: Path) -> None:
    assert chosen(finished_results, keep=1) == ["b", "a"]
    assert chosen(finished_results, keep=0) == ["c", "b", "a"]
    assert chosen(finished_results, keep=9) == chosen(finished_results) == []


def test_those_that_began_long_ago_are_chosen(finished_results: Path) -> None:
    assert chosen(finished_results, older_than_s=86_400 * 1.5) == ["a"]
    assert chosen(finished_results, older_than_s=0) == ["c", "b", "a"]
    assert chosen(finished_results, older_than_s=86_400 * 9, named=["b"]) == ["b"]


def test_an_unknown_one_is_told(finished_results: Path) -> None:
    with pytest.raises(UsageError, match="--drop: 'nobody' is not a run in"):
        chosen(finished_results, named=["a", "nobody"])


def test_what_would_go_is_told_with_its_size(finished_results: Path) -> None:
    (run,) = runs_to_delete(
        finished_results, finished_results / "benchmarks.duckdb", RetentionPolicy(named=["a"])
    )
    assert (run.verdicts, run.path) == (3, finished_results / "a")
    files = (path for path in (finished_results / "a").rglob("*") if path.is_file())
    assert run.size_bytes == sum(path.stat().st_size for path in files)
