"""Scenario `offline`: all samples are there at once, so search for the best batch."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Literal

from runner.backends import load_runtime
from runner.backends.base import Session, ran_out_of_memory
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, Grade, Scale, doubt, scaled
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.environment import memory_budget_bytes
from runner.measure.phases import garbage_frozen
from runner.modes.base import InferenceWorkload, Instruments, heat_up, measure_steadily
from runner.modes.batch_curve import BatchCurve, BatchTry, Gain, gain_of, gains_nothing

FLAT_DOUBLINGS = 2  # doublings without gain that end the search; accelerators have plateaus of one
TRY_QUERIES = 3
TRY_NS = 300_000_000
DOUBLING_SHARE = 2 / 3
"""Share of the search's time for the doublings; the rest measures the best two again."""
PAIRS = 3  # least times that the best batch and its rival are measured again
MOST_PAIRS = 12
CHOICE = Scale(b=0.02, c=0.05, d=0.20)
"""Shares by which another batch may be better, beyond which a batch costs the grade A, B and C."""
SEARCH_SHARE = 1 / 3
_OF_SEARCH = ("batch_size", "search", "offline_")
_GIGABYTE = 1e9

Trial = Callable[[int, int], BatchTry]
"""Tries a batch size until a moment of the clock, with one query at least."""
IsMemory = Callable[[Exception], bool]  # tells whether an error says that memory ran out


@dataclass(frozen=True)
class SearchBounds:
    """Time and memory of a search."""

    first_batch: int
    began_ns: int
    budget_ns: int
    memory_before_bytes: int
    memory_budget_bytes: float

    @property
    def deadline_ns(self) -> int:
        return self.began_ns + self.budget_ns

    @property
    def doublings_end_ns(self) -> int:
        return self.began_ns + round(DOUBLING_SHARE * self.budget_ns)

    def needed_bytes(self, last: BatchTry) -> float:
        return self.memory_before_bytes + 2 * (last.peak_bytes - self.memory_before_bytes)


@dataclass(frozen=True)
class SearchResult:
    """The best batch, the curve, and the record of the search."""

    best: BatchTry
    curve: BatchCurve
    lines: list[str]
    """The record's `search`: a line for each try, the gain, and the reason for the end."""
    doubts: list[Doubt]


@dataclass
class BatchSearch:
    """Search that goes on for two doublings without gain, unless memory or time forbid it."""

    trial: Trial
    bounds: SearchBounds
    clock: Clock
    ran_out: IsMemory
    _curve: BatchCurve = field(default_factory=lambda: BatchCurve([]), init=False)
    _confirmed: set[int] = field(default_factory=set, init=False)
    _premature: Doubt | None = field(default=None, init=False)

    def run(self) -> SearchResult:
        bounds, curve = self.bounds, self._curve
        curve.tries.append(self.trial(bounds.first_batch, bounds.doublings_end_ns))
        reason = self._end()
        while reason is None:
            reason = self._double() or self._end()
        best, chosen, doubts = self._choose()
        return SearchResult(
            next(attempt for attempt in curve.tries if attempt.batch_size == best),
            curve,
            [*(attempt.line for attempt in curve.tries), *chosen, f"ended: {reason}"],
            [self._premature, *doubts] if self._premature else doubts,
        )

    def _end(self) -> str | None:
        """The reason to double no more; None if there is none."""
        bounds, curve = self.bounds, self._curve
        doubled = 2 * curve.last.batch_size
        needed = bounds.needed_bytes(curve.last)
        needed_ns = (TRY_QUERIES + 1) * 2 * round(curve.last.duration_ns)
        if curve.flat >= FLAT_DOUBLINGS and self._is_confirmed(curve.useful):
            return gains_nothing(curve)
        if needed > bounds.memory_budget_bytes:
            allowed = f"{bounds.memory_budget_bytes / _GIGABYTE:.1f} GB"
            memory = f"{needed / _GIGABYTE:.1f} GB, and {allowed}"
            return f"batch {doubled} would need some {memory} may be used"
        if self.clock() + needed_ns > bounds.doublings_end_ns:
            grade: Grade = "B" if curve.flat else "C"
            self._premature = doubt("batch_untried", grade, doubled, "raise_duration")
            return f"no time was left to try batch {doubled}"
        return None

    def _is_confirmed(self, useful: BatchTry) -> bool:
        """Measure the last useful batch again, since luck may have made it that."""
        curve = self._curve
        if useful.batch_size not in self._confirmed:
            self._confirmed.add(useful.batch_size)
            again = self._tried(useful.batch_size, self.bounds.doublings_end_ns)
            if again is not None:
                curve.add_again(again)
        return curve.flat >= FLAT_DOUBLINGS

    def _double(self) -> str | None:
        """Try twice the batch; the reason why that is not possible, or None."""
        doubled = 2 * self._curve.last.batch_size
        try:
            attempt = self._tried(doubled, self.bounds.doublings_end_ns)
        except Unsupported as refusal:
            return f"batch {doubled} is not possible: {refusal}"
        if attempt is None:
            return f"batch {doubled} ran out of memory"
        self._curve.tries.append(attempt)
        return None

    def _tried(self, size: int, until_ns: int) -> BatchTry | None:
        try:
            return self.trial(size, until_ns)
        except Exception as error:
            if not self.ran_out(error):
                raise
            return None

    def _choose(self) -> tuple[int, list[str], list[Doubt]]:
        """The best batch, by the best two measured again; with the line and the doubt of that."""
        two = self._curve.best_two
        if two is None:
            return self._curve.best.batch_size, [], []
        small, large = two
        gain = self._measure_again(small, large)
        names, over = f"batch {large.batch_size} over batch {small.batch_size}", small.batch_size
        if gain == "memory":
            lacked = doubt("batch_memory", "B", large.batch_size, "free_memory", over=over)
            return small.batch_size, [f"memory ran out as {names} was measured again"], [lacked]
        if gain == "time":
            line = f"no time was left to measure {names} again"
            lacked = doubt("batch_time", "B", large.batch_size, "raise_duration", over=over)
            return self._curve.best.batch_size, [line], [lacked]
        taken, left = (large, small) if gain.takes_larger else (small, large)
        line = f"{names}: {gain.words} samples/s, measured again {gain.pairs} times"
        batches = {"batch": left.batch_size, "over": taken.batch_size}
        forgone = gain.forgone
        choice = scaled(CHOICE, forgone, "batch_choice", "raise_duration", forgone, **batches)
        return taken.batch_size, [line], list(choice)

    def _measure_again(self, small: BatchTry, large: BatchTry) -> Gain | Literal["time", "memory"]:
        """Measure both in turn, A B B A, until the choice is clear; else the name of what lacked.

        Memory that ran out once may do so again, so it counts whatever was measured until then.
        What was measured before is left out: it made them the best, so it flatters them.
        """
        pairs: list[tuple[BatchTry, BatchTry]] = []
        memory_ran_out = False
        needed_ns = sum(max(TRY_NS, (TRY_QUERIES + 1) * one.duration_ns) for one in (small, large))
        while len(pairs) < MOST_PAIRS:
            gain = gain_of(pairs)
            if gain is not None and gain.pairs >= PAIRS and gain.forgone <= CHOICE.b:
                break
            if self.clock() + needed_ns > self.bounds.deadline_ns:
                break
            order = (small, large) if len(pairs) % 2 == 0 else (large, small)
            first, second = (self._tried(one.batch_size, self.bounds.deadline_ns) for one in order)
            if first is None or second is None:
                memory_ran_out = True
                break
            pairs.append((first, second) if order[0] is small else (second, first))
        for attempt in chain.from_iterable(pairs):
            self._curve.add_again(attempt)
        if memory_ran_out:
            return "memory"
        gain = gain_of(pairs)
        return gain if gain is not None and gain.pairs >= PAIRS else "time"


def time_try(query: Callable[[], int], clock: Clock, until_ns: int) -> list[int]:
    """Durations of a try's queries: enough of them, and long enough, unless time ends it."""
    durations: list[int] = []
    while len(durations) < TRY_QUERIES or sum(durations) < TRY_NS:
        durations.append(query())
        if clock() > until_ns:
            break
    return durations


def measure_offline(
    session: Session, job: Job, cell: Cell, instruments: Instruments
) -> RoundResult:
    """Measure forward passes at the best batch; later rounds take that of the first."""
    if instruments.earlier:
        columns = instruments.earlier[0].columns.items()
        chosen = {name: value for name, value in columns if name.startswith(_OF_SEARCH)}
        return _measure_at(chosen, session, job, cell, instruments)
    heating_ns = _heat_up(session, job, cell, instruments)
    search = _search(session, job, cell, instruments)
    chosen = {"batch_size": search.best.batch_size, "search": search.lines, **search.curve.columns}
    hot = job.model_copy(update={"measure": job.measure.model_copy(update={"heat_s": None})})
    result = _measure_at(chosen, session, hot, cell, instruments)
    doubts = [*result.doubts, *search.doubts]
    # The search has queried at this shape already, so a first query lies there.
    own = {"first_ns": search.best.first_ns, "heating_ns": heating_ns, "doubts": doubts}
    return result.model_copy(update=own)


def _heat_up(session: Session, job: Job, cell: Cell, instruments: Instruments) -> list[int]:
    """Heat the machine at the first batch, so that all batches meet the same clock."""
    if job.measure.heat_s is None:
        return []
    with closing(InferenceWorkload(session, job, cell, instruments.clock)) as workload:
        workload()
        return heat_up(workload, job, instruments)


def _measure_at(
    chosen: Columns, session: Session, job: Job, cell: Cell, instruments: Instruments
) -> RoundResult:
    sized = cell.model_copy(update={"batch_size": chosen["batch_size"]})
    make = partial(InferenceWorkload, session, job, sized, instruments.clock)
    result = measure_steadily(make, session, job, instruments)
    return result.model_copy(update={"columns": {**result.columns, **chosen}})


def _search(session: Session, job: Job, cell: Cell, instruments: Instruments) -> SearchResult:
    before_bytes = instruments.memory.current_bytes()
    bounds = SearchBounds(
        first_batch=cell.batch_size,
        began_ns=instruments.clock(),
        budget_ns=round(SEARCH_SHARE * job.measure.max_s * NANOSECONDS),
        memory_before_bytes=before_bytes,
        memory_budget_bytes=memory_budget_bytes(job.limits, instruments.environment, before_bytes),
    )
    instruments.enter("first")
    trial = partial(_try_batch, session, job, cell, instruments)

    def ran_out(error: Exception) -> bool:
        return ran_out_of_memory(error, load_runtime(cell.runtime))

    with garbage_frozen():  # each try collects what the last one has left, and nothing else
        return BatchSearch(trial, bounds, instruments.clock, ran_out).run()


def _try_batch(
    session: Session, job: Job, cell: Cell, instruments: Instruments, size: int, until_ns: int
) -> BatchTry:
    sized = cell.model_copy(update={"batch_size": size})
    instruments.memory.reset()
    session.device_memory(reset=True)
    with closing(InferenceWorkload(session, job, sized, instruments.clock)) as workload:
        first_ns = workload()
        with garbage_frozen():
            durations = time_try(workload, instruments.clock, until_ns)
        device = session.device_memory()
    on_device = None if device is None else device.allocator_peak_bytes or device.used_bytes
    return BatchTry(size, first_ns, durations, instruments.memory.peak_bytes(), on_device)
