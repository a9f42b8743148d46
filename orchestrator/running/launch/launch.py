"""One launch of a job: how far it came, why it ended, and the verdicts that its end brings."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.launchers.base import Exit
from orchestrator.system.text import escape_control_line, format_size
from runner.contract.cell import Cell
from runner.contract.errors import JobError
from runner.contract.job import Job
from runner.contract.process_exit import describe_end, last_line
from runner.contract.record import Outcome, Phase, Status

_MOST_WORDS = 1000
"""Characters of a runner's own words that become part of a reason."""


@dataclass(frozen=True)
class LaunchOutcome:
    """The verdict that the end of a launch brings upon the cells it left."""

    status: Status
    reason: str
    """A sentence."""
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
        limits, where = self.job.limits, f"in phase {self.phase}"
        if self.exit is None:
            return LaunchOutcome("lost", f"the container engine went away {where}", False)
        if self.exit.out_of_memory:
            allowed = f" of {format_size(limits.memory_bytes)}" if limits.memory_bytes else ""
            reason = f"killed for exceeding the memory limit{allowed}, {where}"
            return LaunchOutcome("out_of_memory", reason, True)
        if self.exit.code == JobError.exit_code:
            words = quote_runner(self.exit.log.strip())
            return LaunchOutcome("failed", f"the runner refused the job: {words}", True)
        if self.exit.code == 0:
            reason = "the runner ended well but left nothing that can be read"
            return LaunchOutcome("lost", reason, False)
        words = quote_runner(last_line(self.exit.log))
        reason = f"the runner {describe_end(self.exit.code)} {where}"
        return LaunchOutcome("lost", f"{reason}, saying: {words}" if words else reason, False)

    def verdicts(self, pending: Sequence[Cell]) -> list[tuple[Cell, Outcome]]:
        """The verdicts on these cells, which the launch has not visited: one of them, or all."""
        if not pending:
            return []
        outcome = self.outcome
        if outcome.is_the_jobs or (outcome.is_persistent and self.phase == "load"):
            victims = list(pending)
        else:
            victims = [cell for cell in pending if cell == self.cell] or [pending[0]]
        verdict = Outcome(status=outcome.status, reason=outcome.reason, phase=self.phase)
        return [(cell, verdict) for cell in victims]


def quote_runner(words: str) -> str:
    """The runner's own words as part of a sentence: in one line, nothing that steers a terminal."""
    shortened = words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]} …"
    return escape_control_line(shortened)
