"""A launch under way, followed: its progress noted, its deadline and its quota enforced."""

from collections import Counter
from queue import Empty

from orchestrator.launchers.base import TaskExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.launch.deadline import Deadline, Step
from orchestrator.running.launch.launch import Launch, LaunchOutcome
from orchestrator.running.launch.progress_events import EventKind, read_event
from orchestrator.running.launch.quota import QuotaWatch
from orchestrator.running.observer import Observer
from runner.contract.cell import Cell
from runner.contract.reasons import reason
from runner.contract.record.verdict import Phase

_LOOKS = 3
"""Times that a cell's result is looked for because the job says that it is there."""


def follow_launch(
    execution: TaskExecution, progress: "LaunchProgress", deadline: Deadline, quota: QuotaWatch
) -> None:
    """Read progress until the launch ends; end it when it takes too long, or writes too much."""
    launch = progress.launch
    while launch.stopped is None:
        try:
            line = execution.lines.get(timeout=min(deadline.left_s, quota.left_s))
        except Empty:
            pass
        else:
            if line is None:
                return
            progress.note(line)
        launch.stopped = _too_long(launch, deadline) or _too_much(launch, quota)
    execution.kill()


def _too_long(launch: Launch, deadline: Deadline) -> LaunchOutcome | None:
    if deadline.left_s > 0:
        return None
    if deadline.is_the_jobs:
        explanation = reason("job_limit", phase=launch.phase)
        return LaunchOutcome("timeout", explanation, True, is_the_jobs=True)
    explanation = reason("not_done", limit_s=launch.job.timeout_s, phase=launch.phase)
    return LaunchOutcome("timeout", explanation, True)


def _too_much(launch: Launch, quota: QuotaWatch) -> LaunchOutcome | None:
    excess = quota.excess()
    if excess is None:
        return None
    explanation = reason("output_limit", phase=launch.phase, cause=excess)
    return LaunchOutcome("failed", explanation, True, is_the_jobs=True)


class LaunchProgress:
    """The progress of a launch as far as it can be believed."""

    def __init__(
        self, launch: Launch, folder: RunFolder, observer: Observer, deadline: Deadline
    ) -> None:
        self.launch = launch
        """The launch, with the phase and the cell that it says it is in."""
        self._folder = folder
        self._observer = observer
        self._deadline = deadline
        self._cells = {cell.id: cell for cell in launch.job.cells}
        self._ended: set[Cell] = set()
        self._looks: Counter[Cell] = Counter()

    def note(self, line: str) -> None:
        """Note what a progress line says; others mean nothing."""
        event = read_event(line, self._cells)
        if event is None:
            return
        if event.phase is not None:
            self._enter(event.phase, event.cell)
        elif event.cell is not None:
            self._look_for(event.kind, event.cell)

    def _enter(self, phase: Phase, cell: Cell | None) -> None:
        # Exports, which belong to no cell, load anew for each way that they try.
        launch = self.launch
        launch.phase, launch.cell = phase, cell
        self._observer.phase_began(phase, cell)
        if cell is None:
            self._deadline.begin(Step("load"))
        elif cell not in self._ended:
            self._deadline.begin(Step("cell", cell))
        elif launch.job.trace:
            self._deadline.begin(Step("trace", cell))

    def _look_for(self, kind: EventKind, cell: Cell) -> None:
        """See whether the cell's result is there; a job that speaks of it often is not believed."""
        job = self.launch.job
        if cell in self._ended or self._looks[cell] >= _LOOKS:
            return
        self._looks[cell] += 1
        if kind == "recorded" and (record := self._folder.record_of(cell)):
            self._observer.cell_ended(cell, record)
        elif kind == "visited" and self._folder.rounds.has(cell, job.round):
            self._observer.cell_visited(cell, job)
        else:
            return
        self._ended.add(cell)
        self.launch.cell = None
        self._deadline.begin(Step("result", cell))
