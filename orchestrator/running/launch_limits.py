"""Limits of a launch: its deadline, which work moves and talking does not, and its quota.

Files that are deleted while the job holds them open are not seen; they are gone with the job.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from orchestrator.planning.memory import parameters_of
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason

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
        self._timeout_s = job.timeout_s
        self._clock = clock
        self._job_ends = job_ends
        self._loads = loads_of(job)
        self._begun: Counter[Step] = Counter()
        self._step_ends = clock() + job.timeout_s

    @property
    def left_s(self) -> float:
        return max(0.0, min(self._step_ends, self._job_ends) - self._clock())

    @property
    def is_the_jobs(self) -> bool:
        """True if it is the job as a whole that has taken too long."""
        return self._clock() >= self._job_ends

    def grant(self, seconds: float) -> None:
        """Give what it does from now on so many seconds."""
        self._step_ends = self._clock() + seconds

    def begin(self, step: Step) -> None:
        """Give the step the whole timeout, unless it began before."""
        if self._begun[step] < (self._loads if step.kind == "load" else 1):
            self._begun[step] += 1
            self._step_ends = self._clock() + self._timeout_s


LOOK_INTERVAL_S = 1.0
"""Least seconds between two looks."""
_SHARE = 0.02
"""Share of a core that looking may take."""
_FILES, _FILES_OF_A_CELL = 10_000, 100
_MOST_DEPTH = 32
_LEAST_BYTES, _BYTES_OF_A_CELL = 4 << 30, 256 << 20
_BYTES_OF_A_PARAMETER = 12
"""Bytes that an export holds at once of one parameter: in fp32, twice while it is changed, and
quantised."""


@dataclass(frozen=True)
class OutputQuota:
    """Limits of what a job may leave in its output folder, at any moment."""

    most_bytes: int
    most_files: int

    @classmethod
    def of(cls, job: Job) -> "OutputQuota":
        """The job's own limit, or one that follows from what such jobs write."""
        cells = len(job.cells)
        usual = max(_LEAST_BYTES, _BYTES_OF_A_CELL * cells)
        if job.purpose == "prepare":
            usual += round(_BYTES_OF_A_PARAMETER * parameters_of(job.model)) * (cells + OWN_SHAPES)
        return cls(job.limits.output_bytes or usual, _FILES + _FILES_OF_A_CELL * cells)


class QuotaWatch:
    """Looks at an output folder from time to time, the more rarely the longer it takes."""

    def __init__(
        self, folder: Path, quota: OutputQuota, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._quota = quota
        self._clock = clock
        self._next_look = clock() + LOOK_INTERVAL_S

    @property
    def left_s(self) -> float:
        return max(0.0, self._next_look - self._clock())

    def excess(self) -> Reason | None:
        """The limit that the folder exceeds; None if it does not, or until it is time."""
        if self.left_s > 0:
            return None
        began = time.thread_time()
        excess = excess_of(self._folder, self._quota)
        pause = max(LOOK_INTERVAL_S, (time.thread_time() - began) / _SHARE)
        self._next_look = self._clock() + pause
        return excess


def excess_of(folder: Path, quota: OutputQuota) -> Reason | None:
    """The limit that the folder exceeds, or None. Links are counted, never followed."""
    bytes_, files, folders = 0, 0, [(str(folder), 1)]
    while folders:
        path, depth = folders.pop()
        if depth > _MOST_DEPTH:
            return reason("folders_too_deep", most=_MOST_DEPTH)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, depth + 1))
                    else:
                        bytes_ += entry.stat(follow_symlinks=False).st_size
                    if files > quota.most_files:
                        return reason("too_many_files", most=quota.most_files)
                    if bytes_ > quota.most_bytes:
                        return reason("output_too_large", most_bytes=quota.most_bytes)
        except PermissionError:
            return reason("folder_unreadable")
        except OSError:
            continue  # it was removed meanwhile
    return None
