"""Beginning a run: a new one from a plan, or an earlier one where it stopped."""

import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import runner
from orchestrator.backends.catalogue import LauncherName
from orchestrator.planning.plan import Plan
from orchestrator.running.execution import RETRIED
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge import merge_run
from orchestrator.running.run_file import RunFile, new_run_id
from orchestrator.store import Store
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.git import git_commit
from orchestrator.system.text import format_size
from runner.contract.cell import Purpose
from runner.contract.errors import MatrixError, NothingToDo, StoreError

REASONS_SHOWN = 3
FREE_BYTES = 64 << 20


@dataclass(frozen=True)
class Origin:
    """Where a plan came from."""

    text: str | None = None
    """The matrix as text; None when options stood for one."""
    path: Path | None = None
    """The file the matrix came from."""
    command: str | None = None
    """The command line."""


@dataclass(frozen=True)
class Terms:
    """What stays the same when a run is resumed."""

    launcher: LauncherName
    """Where its jobs execute."""
    database: Path | None = None
    """The DuckDB file that takes its records; None: the one in the results folder."""
    seed: int = 0
    """Seed of weights, inputs and the order of execution."""
    scratch: bool = False
    """Whether the database is a scratch one, which takes rows of the fake backend."""
    purpose: Purpose = "measure"
    """Whether its cells are timed, verified or both."""
    trace: bool = False
    """Whether each cell leaves a trace of one untimed iteration."""


def begin(plan: Plan, origin: Origin, results: Path, terms: Terms) -> RunFolder:
    """Make the folder of a new run.

    Raises:
        NothingToDo: no cell of the plan would run.
        StoreError: the results folder cannot be written or is nearly full, or the fake backend
            would fill a real database.
    """
    if not terms.scratch and any(entry.cell.backend == "fake" for entry in plan.entries):
        raise StoreError(
            "the fake backend serves AccelMatrix' own tests; a real database refuses its rows",
            hint="leave `fake` out of axes.backend",
        )
    if not plan.with_decision("run"):
        raise nothing_to_do(plan)
    require_space(results)
    _require_database(terms.database or results / DATABASE_NAME, scratch=terms.scratch)
    return RunFolder.create(results, run_file(plan, origin, terms))


def run_file(plan: Plan, origin: Origin, terms: Terms) -> RunFile:
    """What a run that begins now keeps of itself."""
    return RunFile(
        run_id=new_run_id(),
        started_at=datetime.now(UTC),
        matrix=origin.text,
        matrix_path=str(origin.path) if origin.path else None,
        command=origin.command,
        launcher=terms.launcher,
        database=str(terms.database.absolute()) if terms.database else None,
        seed=terms.seed,
        scratch=terms.scratch,
        purpose=terms.purpose,
        trace=terms.trace,
        git_commit=git_commit(),
        hostname=socket.gethostname(),
        orchestrator_version=runner.__version__,
        plan=plan,
    )


def resume(results: Path, run_id: str, origin: Origin, database: Path | None = None) -> RunFolder:
    """The folder of an earlier run that has cells left, those included that had no chance.

    The run's own database is taken unless another one is named.

    Raises:
        MatrixError: there is no such run, or the matrix named with it is another one.
        NothingToDo: it has a verdict for every cell; if it was killed before they were in the
            database, they are now.
        StoreError: its folder or the database cannot be used.
    """
    folder = RunFolder.open(results, run_id)
    if origin.text is not None and origin.text != folder.run.matrix:
        raise MatrixError(
            f"{origin.path}: differs from the matrix of run {folder.run.run_id}",
            hint="resume without naming a matrix, or start a new run without --resume",
        )
    require_space(folder.path)
    _require_database(database or folder.database, scratch=folder.run.scratch)
    if not folder.left(RETRIED):
        merge_run(folder, database or folder.database).require_complete()
        raise NothingToDo(f"run {folder.run.run_id} has a verdict for each of its cells")
    return folder


def _require_database(path: Path, *, scratch: bool) -> None:
    """Find out before hours of measuring whether the records will have a place to go.

    Raises:
        StoreError: the database cannot be written, is of the other kind or not ours.
    """
    with Store.open(path, scratch=scratch):
        pass


def past_durations(database: Path) -> dict[str, float]:
    """Seconds that cells took on this host before; empty without a readable database."""
    try:
        with Store.open_readonly(database, wait_s=0) as store:
            return dict(store.history())
    except StoreError:
        return {}


def nothing_to_do(plan: Plan) -> NothingToDo:
    """Why no cell of the plan runs: each skipped entry's reason once, the first few of them."""
    reasons: Sequence[str] = list(dict.fromkeys(e.reason for e in plan.entries if e.reason))
    if not plan.entries:
        return NothingToDo(
            "no cell is left to run", hint="; ".join(plan.notes) or "the matrix holds no cell"
        )
    shown = "; ".join(reasons[:REASONS_SHOWN])
    more = (
        f" and {len(reasons) - REASONS_SHOWN} more reasons" if len(reasons) > REASONS_SHOWN else ""
    )
    return NothingToDo(
        f"none of the {len(plan.entries)} cells can run: {shown}{more}",
        hint="`orchestrator plan` shows every cell with its reason",
    )


def require_space(path: Path) -> None:
    """Refuse to begin where the records would not fit.

    Raises:
        StoreError: less than 64 MiB are free.
    """
    place = path.absolute()
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if free < FREE_BYTES:
        raise StoreError(
            f"{path}: {format_size(free)} are free, a run wants {format_size(FREE_BYTES)}",
            hint="free some space, or choose another folder with --results",
        )
