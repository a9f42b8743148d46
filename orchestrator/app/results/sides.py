"""Sides of a comparison: the results that a word names, be it a run, a file or a host."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from analysis.results.selection import Side
from analysis.results.series import AcceptedChange
from orchestrator.app.results.selecting import SelectionRequest
from orchestrator.store import resolve_run
from runner.contract.errors import UsageError


@dataclass(frozen=True)
class Sides:
    """Two sides, open for reading."""

    base: Side
    run: Side
    accepted: tuple[AcceptedChange, ...] = ()
    """Changes that somebody accepted in the database of the judged side."""


@contextmanager
def open_sides(selected: SelectionRequest, baseline: str, run: str) -> Iterator[Sides]:
    """Open both sides.

    Raises:
        UsageError: there is no such run, or both are the same.
        StoreError: the database cannot be read.
    """
    with selected.open() as (store, selection):
        runs = store.runs()
        ids = [resolve_run(name, runs, selected.database) for name in (baseline, run)]
        if ids[0] == ids[1]:
            raise UsageError(
                f"both sides are {ids[0]}", hint="`orchestrator status` lists the runs there are"
            )
        base, judged = (Side(name, store, replace(selection, run_id=name)) for name in ids)
        yield Sides(base, judged)
