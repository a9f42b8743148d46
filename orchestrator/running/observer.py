"""Progress of a run. The command line draws it; tests collect it."""

from collections.abc import Mapping
from typing import Protocol

from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import plural
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase


class Observer(Protocol):
    """Is told about a run's progress. Calls must return quickly."""

    def note(self, text: str) -> None:
        """Something the user should know, one line."""
        ...

    def image_step(self, line: str) -> None:
        """An image is being built and has come to this step."""
        ...

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """A run is about to measure these cells: seconds that each may take, by cell id."""
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
    """Discards every event."""

    def note(self, text: str) -> None:
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


class BaselineObserver(QuietObserver):
    """Passes on the progress of a baseline whose launches take turns with those of another run.

    That one alone counts its cells, which are the same.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._job: Job | None = None

    def note(self, text: str) -> None:
        """Say whose note it is."""
        self._observer.note(f"baseline: {text}")

    def job_started(self, job: Job) -> None:
        """Pass it on under another name."""
        self._job = job
        self._observer.job_started(job.model_copy(update={"id": f"{job.id} of the baseline"}))

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Pass it on."""
        self._observer.phase_began(phase, cell)

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Pass it on."""
        self._observer.cell_visited(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Pass it on as one more round; what did not end well is noted."""
        if record.status != "ok":
            text = reason_text(record.ending) if record.ending else ""
            self.note(f"{cell.id}: {record.status}: {text.partition(chr(10))[0]}")
        elif self._job is not None:
            self._observer.cell_visited(cell, self._job)


def describe_interruption(name: str, count: int) -> str:
    """The line about an interrupted run, with the number of its unfinished cells."""
    return f"{name} was interrupted with {count} {plural(count, 'cell')} left"
