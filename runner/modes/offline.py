"""Scenario `offline`: all samples are there at once, so search for the largest useful batch."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from runner.backends import load_runtime
from runner.backends.base import Session, ran_out_of_memory
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Job
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.environment import memory_budget_bytes
from runner.measure.phases import garbage_frozen
from runner.modes.base import Instruments
from runner.modes.inference import InferenceWorkload
from runner.modes.steady import measure_steadily

USEFUL_GAIN = 0.05
"""A batch is useful if it processes this share more samples per second than half of it."""
LARGEST_BATCH = 1024
TRY_QUERIES = 3
TRY_NS = 300_000_000
"""Least duration of a try."""
SEARCH_SHARE = 1 / 3
"""Share of `measure.max_s` for the search."""
_GIGABYTE = 1e9


@dataclass(frozen=True)
class Try:
    """A few queries at one batch size."""

    batch_size: int
    first_ns: int
    """The first query at this shape."""
    durations_ns: list[int]
    peak_bytes: int

    @property
    def samples_per_second(self) -> float:
        """Throughput by the median duration, which one slow query does not move."""
        return self.batch_size * NANOSECONDS / median(self.durations_ns)

    @property
    def line(self) -> str:
        """One line of the record's `search`."""
        count, rate = len(self.durations_ns), self.samples_per_second
        return f"batch {self.batch_size}: {count} queries, {rate:.1f} samples/s"

    def gains_over(self, half: "Try") -> bool:
        """True if this batch is useful, compared with one of half its size."""
        return self.samples_per_second > (1 + USEFUL_GAIN) * half.samples_per_second


@dataclass(frozen=True)
class SearchEnd:
    """Reason why a search ended."""

    reason: str
    premature: bool = False
    """True if a larger batch may be useful and possible."""


@dataclass(frozen=True)
class SearchResult:
    """Largest useful batch, its first query, and the record of the search."""

    batch_size: int
    first_ns: int | None
    lines: list[str]
    """The record's `search`: a line for each try, and the reason for the end."""
    doubts: list[tuple[str, str]]


def measure_offline(
    session: Session, job: Job, cell: Cell, instruments: Instruments
) -> RoundResult:
    """Measure forward passes at the largest useful batch; later rounds take that of the first."""
    if instruments.earlier:
        columns = instruments.earlier[0].columns
        search = SearchResult(columns["batch_size"], None, columns["search"], [])
    else:
        search = BatchSearch(session, job, cell, instruments).run()
    sized = cell.model_copy(update={"batch_size": search.batch_size})
    result = measure_steadily(
        lambda: InferenceWorkload(session, job, sized, instruments.clock), session, job, instruments
    )
    return result.model_copy(
        update={
            # The search has queried at this shape already, so a first query lies there.
            "first_ns": result.first_ns if search.first_ns is None else search.first_ns,
            "columns": result.columns | {"batch_size": search.batch_size, "search": search.lines},
            "doubts": [*result.doubts, *search.doubts],
        }
    )


class BatchSearch:
    """Search that doubles the batch while that is useful and neither memory nor time forbid it."""

    def __init__(self, session: Session, job: Job, cell: Cell, instruments: Instruments) -> None:
        self._session = session
        self._job = job
        self._cell = cell
        self._clock = instruments.clock
        self._memory = instruments.memory
        self._enter = instruments.enter
        self._before_bytes = instruments.memory.current_bytes()
        self._budget_bytes = memory_budget_bytes(
            job.limits, instruments.environment, self._before_bytes
        )
        budget_s = SEARCH_SHARE * job.measure.max_s
        self._deadline = instruments.clock() + round(budget_s * NANOSECONDS)
        self._tries: list[Try] = []

    def run(self) -> SearchResult:
        """Search for the largest useful batch.

        Raises:
            Exception: a query's error, unless memory ran out in a doubled batch.
        """
        self._enter("first")
        self._tries.append(self._try(self._cell.batch_size))
        end = self._end()
        while end is None:
            end = self._double() or self._end()
        lines = [attempt.line for attempt in self._tries]
        doubts = [("C", f"{end.reason}: raise measure.max_duration")] if end.premature else []
        best = self._best()
        return SearchResult(
            best.batch_size, best.first_ns, [*lines, f"ended: {end.reason}"], doubts
        )

    def _end(self) -> SearchEnd | None:
        last = self._tries[-1]
        doubled = 2 * last.batch_size
        needed = self._before_bytes + 2 * (last.peak_bytes - self._before_bytes)
        needed_ns = (TRY_QUERIES + 1) * 2 * round(median(last.durations_ns))
        if self._best() is not last:
            half = last.batch_size // 2
            return SearchEnd(
                f"batch {last.batch_size} gains {USEFUL_GAIN:.0%} or less over batch {half}"
            )
        if doubled > LARGEST_BATCH:
            return SearchEnd(f"batches beyond {LARGEST_BATCH} are not tried")
        if needed > self._budget_bytes:
            memory = f"{needed / _GIGABYTE:.1f} GB, and {self._budget_bytes / _GIGABYTE:.1f} GB"
            return SearchEnd(f"batch {doubled} would need some {memory} may be used")
        if self._clock() + needed_ns > self._deadline:
            return SearchEnd(f"no time was left to try batch {doubled}", premature=True)
        return None

    def _double(self) -> SearchEnd | None:
        doubled = 2 * self._tries[-1].batch_size
        try:
            self._tries.append(self._try(doubled))
        except Unsupported as refusal:
            return SearchEnd(f"batch {doubled} is not possible: {refusal}")
        except Exception as error:
            if not ran_out_of_memory(error, load_runtime(self._cell.runtime)):
                raise
            return SearchEnd(f"batch {doubled} ran out of memory")
        return None

    def _best(self) -> Try:
        if len(self._tries) > 1 and not self._tries[-1].gains_over(self._tries[-2]):
            return self._tries[-2]
        return self._tries[-1]

    def _try(self, batch_size: int) -> Try:
        sized = self._cell.model_copy(update={"batch_size": batch_size})
        self._memory.reset()
        with closing(InferenceWorkload(self._session, self._job, sized, self._clock)) as workload:
            first_ns = workload()
            durations = self._time(workload)
        return Try(batch_size, first_ns, durations, self._memory.peak_bytes())

    def _time(self, workload: Callable[[], int]) -> list[int]:
        durations: list[int] = []
        with garbage_frozen():
            while len(durations) < TRY_QUERIES or sum(durations) < TRY_NS:
                durations.append(workload())
                if self._clock() > self._deadline:
                    break
        return durations
