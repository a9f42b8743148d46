"""Known steps: recorded with their reason, so that later results are judged by the new level."""

import getpass
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from analysis.results.selection import selected_cells
from analysis.results.series import accepted_changes
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.query.accepted import KnownStep, accept_changes, withdraw_changes
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store
from orchestrator.system.text import escape_control_line, plural
from runner.contract.errors import NothingToDo, UsageError

LONGEST_REASON = 500
"""Letters of a reason."""
_LONGEST_NAME = 64
_REASON_HINT = "say what changed, for example `--because 'torch 2.9 verifies its inputs'`"


@dataclass(frozen=True)
class AcceptanceRequest:
    """A known step, as options name it."""

    selected: SelectionRequest
    """The database, and filters of the run's cells."""
    run: str
    """The first run behind the step; `last` is the newest."""
    because: str = ""
    """The reason; nothing is needed to take one back."""


@dataclass(frozen=True)
class Acceptance:
    """Cells of a run that were accepted, or taken back."""

    run_id: str
    cell_ids: tuple[str, ...]
    because: str | None
    """The reason; None where it was taken back."""
    updated: tuple[str, ...] = ()
    """Those cells that had another reason before."""


def accept_step(request: AcceptanceRequest) -> Acceptance:
    """Record that the selected results of a run begin a level that is known."""
    because = _reason(request.because)
    with request.selected.open() as (store, _):
        run_id = resolve_run(request.run, store.runs(), request.selected.database)
        cell_ids = _cells(store, request.selected, run_id)
    if not cell_ids:
        raise NothingToDo(
            f"{run_id} has no result that fits, so no series has a step there",
            hint=f"`orchestrator status {run_id}` shows what it has; --all takes also what must"
            " not be quoted",
        )
    step = KnownStep(run_id, cell_ids, because, datetime.now(UTC), _user())
    updated = accept_changes(request.selected.database, step)
    return Acceptance(run_id, cell_ids, because, updated)


def withdraw_step(request: AcceptanceRequest) -> Acceptance:
    """Take back what was accepted of a run, or of the selected cells of it."""
    database = request.selected.database
    with request.selected.open() as (store, _):
        accepted = {change.run_id for change in accepted_changes(store)}
        run_id = (
            request.run
            if request.run in accepted
            else resolve_run(request.run, store.runs(), database)
        )
        chosen = _cells(store, request.selected, run_id) if request.selected.filters else None
    cell_ids = withdraw_changes(database, run_id, chosen)
    if not cell_ids:
        words = "of these cells " if chosen is not None else ""
        others = [name for name in sorted(accepted) if name != run_id]
        raise NothingToDo(
            f"nothing {words}was accepted of {run_id}",
            hint=f"`orchestrator query accepted_changes` lists what was of"
            f" {len(others):,} {plural(len(others), 'run')}"
            if others
            else "no change is accepted in this database",
        )
    return Acceptance(run_id, cell_ids, None)


def _cells(store: Store, selected: SelectionRequest, run_id: str) -> tuple[str, ...]:
    """The cells of the run whose results are selected."""
    selection = replace(selected, run=None, every=True).selection_in(store)
    return selected_cells(store, replace(selection, run_id=run_id))


def _reason(text: str) -> str:
    """The reason that was given, if it is one."""
    reason = text.strip()
    if not reason:
        raise UsageError("--because is empty", hint=_REASON_HINT)
    if len(reason) > LONGEST_REASON:
        raise UsageError(
            f"--because has {len(reason):,} letters, and at most {LONGEST_REASON} are kept",
            hint="name the commit, or where more is written",
        )
    if escape_control_line(reason) != reason:
        raise UsageError(
            f"--because {escape_control_line(reason)!r}: is not one line of text", hint=_REASON_HINT
        )
    return reason


def _user() -> str | None:
    """The name under which the user works on this computer; None if nobody knows it."""
    with suppress(KeyError, OSError, ImportError):
        return escape_control_line(getpass.getuser())[:_LONGEST_NAME]
    return None
