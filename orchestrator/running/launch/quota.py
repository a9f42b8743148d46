"""The quota of a job's output folder: bytes, files and depth, looked at while the job runs.

Files that are deleted while the job holds them open are not seen; they are gone with the job.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.planning.memory import parameters_of
from orchestrator.running.launch.deadline import OWN_SHAPES
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason

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
    """Bytes of all files together."""
    most_files: int
    """Files and folders."""

    @classmethod
    def of(cls, job: Job) -> "OutputQuota":
        """The job's own limit, or one that follows from what such jobs write."""
        files = _FILES + _FILES_OF_A_CELL * len(job.cells)
        return cls(job.limits.output_bytes or _usual_bytes(job), files)


def _usual_bytes(job: Job) -> int:
    usual = max(_LEAST_BYTES, _BYTES_OF_A_CELL * len(job.cells))
    if job.purpose != "prepare":
        return usual
    shapes = len(job.cells) + OWN_SHAPES
    return usual + round(_BYTES_OF_A_PARAMETER * parameters_of(job.model)) * shapes


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
        """Seconds until the next look."""
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
