"""Run folders for tests, new and finished."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile
from runner.contract.cell import Cell, Purpose
from runner.contract.job import Limits, Provenance
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from tests.support.jobs import FAST, fake_cell, fake_model
from tests.support.records import record_for

SEED, WEIGHTS_SEED = 3, 5


def a_plan(
    cells: Sequence[Cell] = (fake_cell(1), fake_cell(2), fake_cell(4)),
    model: ModelSpec | None = None,
    limits: Limits | None = None,
    skips: Mapping[Cell, str] | None = None,
    rounds: int = 1,
) -> Plan:
    """A plan that runs these cells and skips those."""
    runs = [PlannedCell(cell=cell, decision="run", estimate_s=1) for cell in cells]
    skipped = [
        PlannedCell(
            cell=cell, decision="skip", status="unsupported", reason=reason("said", text=text)
        )
        for cell, text in (skips or {}).items()
    ]
    backends = {entry.cell.backend for entry in (*runs, *skipped)}
    names = {entry.cell.model for entry in (*runs, *skipped)}
    return Plan(
        entries=(*runs, *skipped),
        notes=(),
        whole=True,
        models=dict.fromkeys(names, model or fake_model()),
        measure=dict.fromkeys(backends, FAST.model_copy(update={"rounds": rounds})),
        limits=dict.fromkeys(backends, limits or Limits()),
    )


def a_run_folder(
    results: Path, plan: Plan | None = None, run_id: str = "run-1", purpose: Purpose = "measure"
) -> RunFolder:
    """A new run's folder, allowed to hold rows of the fake backend."""
    return RunFolder.create(
        results,
        RunFile(
            run_id=run_id,
            started_at=datetime.now(UTC),
            matrix=None,
            matrix_path=None,
            options=RunOptions(
                launcher="process", seed=SEED, weights_seed=WEIGHTS_SEED, scratch=True
            ),
            purpose=purpose,
            git_commit=None,
            hostname="here",
            orchestrator_version="0",
            plan=plan or a_plan(),
        ),
    )


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
        job = folder.run.job([cell], SOMEWHERE)
        folder.save(record_for(job, cell, recorded_at=when))
    return folder
