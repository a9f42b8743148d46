"""Which runs are chosen to go."""

from pathlib import Path

import pytest

from orchestrator.app.results.retention import Wanted, choose
from runner.contract.errors import UsageError
from tests.support.finished_runs import three_runs


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return three_runs(tmp_path / "results")


def chosen(results: Path, **wanted: object) -> list[str]:
    return [run.run_id for run in choose(results, results / "benchmarks.duckdb", Wanted(**wanted))]  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_newest_are_kept(results: Path) -> None:
    assert chosen(results, keep=1) == ["b", "a"]
    assert chosen(results, keep=0) == ["c", "b", "a"]
    assert chosen(results, keep=9) == chosen(results) == []


@pytest.mark.slow
def test_those_that_began_long_ago_are_chosen(results: Path) -> None:
    assert chosen(results, older_than_s=86_400 * 1.5) == ["a"]
    assert chosen(results, older_than_s=0) == ["c", "b", "a"]
    assert chosen(results, older_than_s=86_400 * 9, named=["b"]) == ["b"]


@pytest.mark.slow
def test_an_unknown_one_is_told(results: Path) -> None:
    with pytest.raises(UsageError, match="--drop: 'nobody' is not a run in"):
        chosen(results, named=["a", "nobody"])


@pytest.mark.slow
def test_what_would_go_is_told_with_its_size(results: Path) -> None:
    (run,) = choose(results, results / "benchmarks.duckdb", Wanted(named=["a"]))
    assert (run.verdicts, run.path) == (3, results / "a")
    files = (path for path in (results / "a").rglob("*") if path.is_file())
    assert run.size_bytes == sum(path.stat().st_size for path in files)
