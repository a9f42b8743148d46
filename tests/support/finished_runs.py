"""Results folders with finished runs, for tests."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.app.results.merge import merge_paths
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RunFile
from runner.contract.job import Provenance
from tests.support.records import record_for
from tests.support.runs import a_run_folder

SOMEWHERE = Provenance(launcher="process", orchestrator_version="0")
NOW = datetime.now(UTC)


def three_runs(results: Path) -> Path:
    """Three finished runs of three cells, one in each of the last days; all in the database."""
    for age, run_id in enumerate(("c", "b", "a")):
        finished(results, run_id, age)
    merge_paths([results], results / "benchmarks.duckdb", scratch=True)
    return results


def finished(results: Path, run_id: str, age: int, cells: int = 3) -> RunFolder:
    """A run that began so many days ago and measured so many of its three cells."""
    made = a_run_folder(results, run_id=run_id)
    when = NOW - timedelta(days=age, minutes=1)
    run = RunFile.model_validate(made.run.model_dump() | {"started_at": when})
    (made.path / "run.json").write_text(run.model_dump_json())
    folder = RunFolder.open(results, run_id)
    for cell in folder.cells[:cells]:
        job = folder.job([cell], SOMEWHERE)
        folder.save(record_for(job, cell, recorded_at=when))
    return folder
