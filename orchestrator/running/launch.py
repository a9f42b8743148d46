"""One launch of a job: followed until it ends, and the verdicts that its end brings."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import Empty
from typing import Literal, get_args

from orchestrator.launchers.base import Exit, TaskExecution
from orchestrator.launchers.output import LINE_BYTES
from orchestrator.running.folder import RunFolder
from orchestrator.running.launch_limits import Deadline, QuotaWatch, Step
from orchestrator.running.observer import Observer
from orchestrator.system.text import escape_control_line
from runner.contract.cell import Cell, QuestionKey
from runner.contract.errors import JobError
from runner.contract.job import Job
from runner.contract.processes import end_facts, last_line
from runner.contract.reasons import Reason, reason
from runner.contract.record.quality import Outcome
from runner.contract.record.verdict import Phase, Status

_MOST_WORDS = 1000
"""Characters of a runner's own words that become part of a reason."""


@dataclass(frozen=True)
class LaunchOutcome:
    """The verdict that the end of a launch brings upon the cells it left."""

    status: Status
    reason: Reason
    is_persistent: bool
    """True if the next launch would end the same way, should this one have ended while loading."""
    is_the_jobs: bool = False
    """True if it concerns all cells that are left, in whatever phase the launch ended."""


@dataclass
class Launch:
    """One launch of a job, and how far it came."""

    job: Job
    phase: Phase = "load"
    cell: Cell | None = None
    """The current cell; None while loading, which is for all of them."""
    stopped: LaunchOutcome | None = None
    """The outcome for which the host ended it; None if it ended by itself."""
    exit: Exit | None = None
    """None if the container engine was lost before the exit status was known."""
    turn_limit_s: float | None = None
    """The seconds that its present burst may take; None for what is none."""
    waits_at: Cell | None = None
    """The cell at which it waits for its turn; None while it works and once it has ended."""

    @property
    def outcome(self) -> LaunchOutcome:
        """The reason of its end, whatever it has left."""
        if self.stopped is not None:
            return self.stopped
        phase = self.phase
        if self.exit is None:
            return LaunchOutcome("lost", reason("engine_lost", phase=phase), False)
        if self.exit.out_of_memory:
            explanation = reason("memory_limit", limit=self.job.limits.memory_bytes, phase=phase)
            return LaunchOutcome("out_of_memory", explanation, True)
        if self.exit.code == JobError.exit_code:
            words = quote_runner(self.exit.log.strip())
            return LaunchOutcome("failed", reason("job_refused", words=words), True)
        if self.exit.code == 0:
            return LaunchOutcome("lost", reason("nothing_left"), False)
        last_words = quote_runner(last_line(self.exit.log)) or None
        ended = reason("runner_died", **end_facts(self.exit.code), phase=phase, words=last_words)
        return LaunchOutcome("lost", ended, False)

    def verdicts(self, pending: Sequence[Cell]) -> list[tuple[Cell, Outcome]]:
        """The verdicts on these cells, which the launch has not visited: one of them, or all."""
        if not pending:
            return []
        outcome = self.outcome
        if outcome.is_the_jobs or (outcome.is_persistent and self.phase == "load"):
            victims = list(pending)
        else:
            victims = [cell for cell in pending if cell == self.cell] or [pending[0]]
        verdict = Outcome.because(outcome.status, outcome.reason, self.phase)
        return [(cell, verdict) for cell in victims]


def quote_runner(words: str) -> str:
    """The runner's own words as part of a sentence: in one line, nothing that steers a terminal."""
    shortened = words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]} …"
    return escape_control_line(shortened)


EventKind = Literal["phase", "recorded", "visited", "waits"]
"""A phase begins; a cell's record is in the output folder; a round's result of it is; the job waits
for its turn."""


@dataclass(frozen=True)
class ProgressEvent:
    """An event of which a job speaks."""

    kind: EventKind
    cell: Cell | None
    """The cell, one of the job's; None for phases that concern all of them."""
    phase: Phase | None = None
    """The phase that begins; None for the other kinds."""


def read_event(line: str, cells: Mapping[str, Cell]) -> ProgressEvent | None:
    """The event that the line tells about one of these cells; None for every other text."""
    if len(line) > LINE_BYTES:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    kind, phase, name = (event.get(key) for key in ("event", "phase", "cell_id"))
    cell = cells.get(name) if isinstance(name, str) else None
    if kind == "phase":
        concerns_all = "cell_id" in event and name is None
        is_known = phase in get_args(Phase) and (cell is not None or concerns_all)
        return ProgressEvent(kind, cell, phase) if is_known else None
    if kind not in ("recorded", "visited", "waits") or cell is None:
        return None
    return ProgressEvent(kind, cell)


_LOOKS = 3
"""Times that a cell's result is looked for because the job says that it is there."""


class FollowedLaunch:
    """A launch under way, followed until it ends or waits for its turn."""

    def __init__(
        self,
        execution: TaskExecution,
        progress: "LaunchProgress",
        deadline: Deadline,
        quota: QuotaWatch,
    ) -> None:
        self.launch = progress.launch
        self._execution = execution
        self._progress = progress
        self._deadline = deadline
        self._quota = quota

    @property
    def question(self) -> QuestionKey | None:
        """The question of the cell at which it waits for its turn; None once it has ended."""
        cell = self.launch.waits_at
        return None if cell is None or self.launch.stopped else cell.question

    @property
    def timeout_s(self) -> float:
        return self.launch.job.timeout_s

    def follow(self) -> None:
        launch, lines = self.launch, self._execution.lines
        while launch.stopped is None:
            try:
                line = lines.get(timeout=min(self._deadline.left_s, self._quota.left_s))
            except Empty:
                pass
            else:
                if line is None:
                    return
                self._progress.note(line)
            launch.stopped = _too_long(launch, self._deadline) or _too_much(launch, self._quota)
            if launch.stopped is None and launch.waits_at is not None:
                return
        self._execution.kill()

    def take_burst(self, burst_s: float, limit_s: float) -> None:
        """Let it iterate for so long, until it waits again or has ended."""
        self.launch.turn_limit_s = limit_s
        self._take_turn({"burst_s": burst_s}, limit_s)
        self.launch.turn_limit_s = None

    def go_on(self) -> None:
        """Let it go on behind its bursts, until it waits again or has ended."""
        self._take_turn({}, self.timeout_s)

    def _take_turn(self, order: Mapping[str, float], limit_s: float) -> None:
        self.launch.waits_at = None
        self._deadline.grant(limit_s)
        self._execution.send(json.dumps(order))
        self.follow()


def _too_long(launch: Launch, deadline: Deadline) -> LaunchOutcome | None:
    if deadline.left_s > 0:
        return None
    if deadline.is_the_jobs:
        explanation = reason("job_limit", phase=launch.phase)
        return LaunchOutcome("timeout", explanation, True, is_the_jobs=True)
    if launch.turn_limit_s is not None:
        explanation = reason("burst_not_done", limit_s=launch.turn_limit_s)
        return LaunchOutcome("lost", explanation, False)
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
        self._folder = folder
        self._observer = observer
        self._deadline = deadline
        self._cells = {cell.id: cell for cell in launch.job.cells}
        self._ended: set[Cell] = set()
        self._looks: Counter[Cell] = Counter()

    def note(self, line: str) -> None:
        event = read_event(line, self._cells)
        if event is None:
            return
        if event.phase is not None:
            self._enter(event.phase, event.cell)
        elif event.kind == "waits":
            self.launch.waits_at = event.cell if self.launch.job.takes_turns else None
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
