"""One launch of a job: how far it came, why it ended, and the verdicts that its end brings."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.launchers.base import Exit
from orchestrator.system.text import escape_control_line
from runner.contract.cell import Cell
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
