"""The moment at which a launch has taken too long: work that is there moves it, talking does not.

Each step of a job has the cell timeout: loading, each cell, what follows its record, its trace.
A step begins once, so what a job says can move the deadline only so often. The job as a whole,
over all launches that its cells need, ends at a limit of its own.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from runner.contract.cell import Cell
from runner.contract.job import Job

WAYS_OF_EXPORTING = 8
"""Most times that an export loads the model anew for one shape."""
_STEPS_OF_A_CELL = 3
"""Loading again after a launch that died, the cell itself, its trace."""
OWN_SHAPES = 2
"""Shapes that an export tries beside those of its cells: the dynamic one and the verification's."""


class Step(NamedTuple):
    """A stretch of a job's work that has the whole cell timeout."""

    kind: Literal["load", "cell", "result", "trace"]
    cell: Cell | None = None


def loads_of(job: Job) -> int:
    """The number of times that a launch of the job may load its model."""
    if job.purpose == "prepare":
        return WAYS_OF_EXPORTING * (len(job.cells) + OWN_SHAPES)
    return 1


def job_limit_s(job: Job) -> float:
    """Seconds that the job may take altogether, launches that died included."""
    steps = _STEPS_OF_A_CELL * len(job.cells) + 1 + loads_of(job)
    return steps * job.timeout_s


class Deadline:
    """The deadline of one launch."""

    def __init__(self, job: Job, clock: Callable[[], float], job_ends: float) -> None:
        """The deadline of a launch that begins now.

        Args:
            job: the job that is launched.
            clock: seconds that never go backwards.
            job_ends: the clock's time at which the job as a whole ends.
        """
        self._timeout_s = job.timeout_s
        self._clock = clock
        self._job_ends = job_ends
        self._loads = loads_of(job)
        self._begun: Counter[Step] = Counter()
        self._step_ends = clock() + job.timeout_s

    @property
    def left_s(self) -> float:
        """Seconds until the launch has taken too long; 0 if it has."""
        return max(0.0, min(self._step_ends, self._job_ends) - self._clock())

    @property
    def is_the_jobs(self) -> bool:
        """True if it is the job as a whole that has taken too long."""
        return self._clock() >= self._job_ends

    def begin(self, step: Step) -> None:
        """Give the step the whole timeout, unless it began before."""
        if self._begun[step] < (self._loads if step.kind == "load" else 1):
            self._begun[step] += 1
            self._step_ends = self._clock() + self._timeout_s
