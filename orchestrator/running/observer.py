"""What a run tells while it is under way. The CLI draws it; tests collect it."""

from typing import Protocol

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record import Phase, Record


class Observer(Protocol):
    """Is told about a run's progress. Calls must return quickly."""

    def note(self, text: str) -> None:
        """Something the user should know, one line."""
        ...

    def job_started(self, job: Job) -> None:
        """A job is about to be launched."""
        ...

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """The runner entered a phase; loading belongs to no cell."""
        ...

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """A round of the cell is over that is not its last; `job` is that round's launch."""
        ...

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """The cell has its verdict."""
        ...


class QuietObserver:
    """Tells nobody."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def job_started(self, job: Job) -> None:
        """Say nothing."""

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Say nothing."""

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Say nothing."""

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Say nothing."""
