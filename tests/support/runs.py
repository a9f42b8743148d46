"""Run folders for tests."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RunFile
from runner.contract.cell import Cell, Purpose
from runner.contract.job import Limits
from runner.contract.models import ModelSpec
from tests.support.jobs import FAST, fake_cell, fake_model


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
        PlannedCell(cell=cell, decision="skip", status="unsupported", reason=reason)
        for cell, reason in (skips or {}).items()
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
            launcher="process",
            database=None,
            seed=0,
            scratch=True,
            purpose=purpose,
            git_commit=None,
            hostname="here",
            orchestrator_version="0",
            plan=plan or a_plan(),
        ),
    )
