"""Creates the folder of a new run, or opens that of an earlier one where it stopped."""

import os
import secrets
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import runner
from orchestrator.backends.machine import this_host
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.calibration import read_spreads
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import RunOptions, ci_labels
from orchestrator.running.run_file import RunFile, new_run_id, run_folders
from orchestrator.screen.words.reasons import reason_text, remedy_text
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.git import own_commit
from orchestrator.system.text import format_size
from runner.contract.cell import Purpose
from runner.contract.errors import NothingToDo, StoreError, UsageError
from runner.contract.job import ProcessSpread
from runner.contract.web import BrowserChoice

_REASONS_SHOWN = 3
_FREE_BYTES = 64 << 20
_LARGEST_DRAWN_SEED = 2**31


def create_run(
    plan: Plan,
    source: RunSource,
    results: Path,
    options: RunOptions,
    changes: Mapping[str, object] | None = None,
) -> RunFolder:
    """Make the folder of a new run.

    `changes` is what `run.json` has besides, such as the `group_id` of a run on a fleet.

    Raises:
        NothingToDo: no cell of the plan would run.
        StoreError: the results folder cannot be written or is nearly full, or the fake backend
            would fill a real database.
    """
    require_runnable(plan, results, options)
    run = new_run_file(plan, source, results, options).model_copy(update=changes)
    return RunFolder.create(results, run)


def require_runnable(plan: Plan, results: Path, options: RunOptions) -> None:
    if not options.scratch and any(entry.cell.backend == "fake" for entry in plan.entries):
        raise StoreError(
            "the fake backend serves AccelMatrix' own tests; a real database refuses its rows",
            hint="leave `fake` out of axes.backend",
        )
    if not plan.with_decision("run"):
        raise nothing_to_do(plan)
    require_space(results)
    _require_database(options.database or results / DATABASE_NAME, scratch=options.scratch)


def new_run_file(
    plan: Plan,
    source: RunSource,
    results: Path,
    options: RunOptions,
    purpose: Purpose | None = None,
) -> RunFile:
    """The `run.json` of a run that begins now in this folder.

    The purpose is that of the options unless another one is named.
    """
    drawn = secrets.randbelow(_LARGEST_DRAWN_SEED) if options.seed is None else options.seed
    database = options.database and options.database.absolute()
    labels = [*ci_labels(os.environ), *(options.label or ())]
    return RunFile(
        **dict(source),
        options=replace(options.alone(), seed=drawn, database=database, label=labels),
        purpose=purpose or options.purpose,
        browser=BrowserChoice.of(os.environ),
        run_id=new_run_id(results),
        started_at=datetime.now(UTC),
        git_commit=own_commit(),
        hostname=socket.gethostname(),
        orchestrator_version=runner.__version__,
        plan=plan,
        process_spreads=known_spreads(results, database or results / DATABASE_NAME, this_host()),
    )


def known_spreads(results: Path, database: Path, host: str | None) -> dict[str, ProcessSpread]:
    """The calibrated spreads of this machine, and beside them those that its own results tell.

    Those are of runs whose folders lie here, so no stranger's record makes intervals narrower.
    """
    learnt: dict[str, ProcessSpread] = {}
    with suppress(StoreError):  # whoever needs the database says so
        if host is not None and database.is_file():
            own = [path.name for path in run_folders(results)]
            with Store.open_readonly(database, wait_s=0) as store:
                learnt = store.process_spreads(host, socket.gethostname(), own)
    return {**learnt, **read_spreads(results, host)}


def reopen_run(
    results: Path, run_id: str, source: RunSource, database: Path | None = None
) -> RunFolder:
    """The folder of an earlier run that has cells left, those included that had no chance.

    The run's own database is taken unless another one is named.

    Raises:
        UsageError: there is no such run, or the matrix named with it is another one.
        NothingToDo: it has a verdict for every cell; if it was killed before they were in the
            database, they are now.
        StoreError: its folder or the database cannot be used.
    """
    folder = RunFolder.open(results, run_id)
    require_resumable(folder, source, database)
    if not folder.unfinished():
        merge_run(folder, database or folder.database).require_complete()
        raise NothingToDo(f"run {folder.run.run_id} has a verdict for each of its cells")
    return folder


def require_resumable(folder: RunFolder, source: RunSource, database: Path | None = None) -> None:
    """Insist that what the run has left can be measured."""
    if source.matrix is not None and source.matrix != folder.run.matrix:
        raise UsageError(
            f"{source.matrix_path}: differs from the matrix of run {folder.run.run_id}",
            hint="resume without naming a matrix, or start a new run without --resume",
        )
    require_space(folder.path)
    _require_database(database or folder.database, scratch=folder.run.options.scratch)


def _require_database(path: Path, *, scratch: bool) -> None:
    """Insist, before hours of measuring, that the database will take the records."""
    with Store.open(path, scratch=scratch):
        pass


def nothing_to_do(plan: Plan) -> NothingToDo:
    """The error if no cell of the plan runs, with the first few reasons of skipped cells."""
    if not plan.entries:
        return NothingToDo(
            "no cell is left to run", hint="; ".join(plan.notes) or "the matrix holds no cell"
        )
    causes = dict.fromkeys(entry.reason for entry in plan.entries)
    reasons = [reason_text(cause) for cause in causes if cause]
    shown = "; ".join(reasons[:_REASONS_SHOWN])
    left = len(reasons) - _REASONS_SHOWN
    more = f" and {left} more reasons" if left > 0 else ""
    hint: str | None = "`orchestrator plan MATRIX` shows every cell with its reason"
    if len(causes) == 1 and (only := next(iter(causes))) and only.code == "device_missing":
        hint = remedy_text("unavailable", only)
    return NothingToDo(f"none of the {len(plan.entries)} cells can run: {shown}{more}", hint=hint)


def require_space(path: Path) -> None:
    """Refuse to begin where the records would not fit."""
    absolute = path.absolute()
    existing = next(folder for folder in (absolute, *absolute.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if free < _FREE_BYTES:
        raise StoreError(
            f"{path}: {format_size(free)} are free, a run needs {format_size(_FREE_BYTES)}",
            hint="free some space, or choose another folder with --results",
        )
