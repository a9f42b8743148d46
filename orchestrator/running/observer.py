"""Progress of a run. The command line draws it; tests collect it."""

from collections.abc import Mapping
from typing import Protocol

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase


class Observer(Protocol):
    """Is told about a run's progress. Calls must return quickly."""

    def note(self, text: str, reason: Reason | None = None) -> None:
        """One line for the user, and the reason of a verdict that it tells, if it does."""
        ...

    def image_step(self, line: str) -> None: ...

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """A run is about to measure these cells: seconds that each may take, by cell id."""
        ...

    def job_started(self, job: Job) -> None: ...

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """The runner entered a phase; loading belongs to no cell."""
        ...

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """A round of the cell is over that is not its last; `job` is that round's launch."""
        ...

    def cell_ended(self, cell: Cell, record: Record) -> None: ...


class QuietObserver:
    """Discards every event."""

    def note(self, text: str, reason: Reason | None = None) -> None:
        """Drop the note."""

    def image_step(self, line: str) -> None:
        """Drop the event."""

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Drop the event."""

    def job_started(self, job: Job) -> None:
        """Drop the event."""

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Drop the event."""

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Drop the event."""

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Drop the event."""


class PassingObserver:
    """Passes on the progress of one part of a run to the observer of the whole."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def note(self, text: str, reason: Reason | None = None) -> None:
        self._observer.note(text, reason)

    def image_step(self, line: str) -> None:
        self._observer.image_step(line)

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Drop the event: the whole run has begun."""

    def job_started(self, job: Job) -> None:
        self._observer.job_started(job)

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        self._observer.phase_began(phase, cell)

    def cell_visited(self, cell: Cell, job: Job) -> None:
        self._observer.cell_visited(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        self._observer.cell_ended(cell, record)
