"""Draws a run's progress on stderr: live lines on a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from analysis.statistics.numbers import format_number
from orchestrator.running.observer import Observer, QuietObserver
from orchestrator.screen.lines import print_note
from orchestrator.screen.words.reasons import reason_text
from orchestrator.screen.wrapping import wrap
from orchestrator.system.text import escape_control, escape_control_line, format_duration, plural
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase

if TYPE_CHECKING:
    from rich.console import Console

_ESTIMATES_WEIGHT = 0.2
"""Weight of the estimates beside measured time, as a share of their sum: one slow cell at the
beginning says little about the others."""
_ALMOST = 0.8
"""Most of a cell's work that passing time alone stands for: one that takes longer than expected
slows down what is expected of it and of all others."""
_BAR = 12
_BESIDE_NAME = _BAR + 36
"""Columns that a live line needs beside a job's name: bar, count, shape and phase."""
_LEAST_NAME = 20
_BESIDE_STEP = len("all cells ") + _BAR + len(" 999/999 ")
"""Columns that the run's line needs beside the step of a build."""
_Clock = Callable[[], float]
"""Seconds that never go backwards."""


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Observer]:
    """An observer that draws until the context ends."""
    console = None if quiet else live_console()
    if quiet:
        yield QuietObserver()
    elif console is not None:
        with LiveObserver(console) as observer:
            yield observer
    else:
        yield PlainObserver()


@contextmanager
def show_build(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Takes the steps of a build: on a terminal one line, rewritten in place."""
    console = None if quiet else live_console()
    if quiet:
        yield QuietObserver().note
    elif console is not None:
        with console.status("", refresh_per_second=1) as status:
            yield lambda line: status.update(_fitted_step(escape_control_line(line), console.width))
    else:
        yield print_note


def live_console() -> "Console | None":
    """The terminal behind stderr; None elsewhere, where nothing is imported to draw with."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    return console if console.is_terminal and not console.is_dumb_terminal else None


class Forecast:
    """Count of cells, and the time left by the estimates and how they have held so far."""

    def __init__(self, estimates_s: Mapping[str, float], clock: _Clock = time.monotonic) -> None:
        self._estimates_s: defaultdict[str, float] = defaultdict(float)
        self._times: Counter[str] = Counter()
        """Runs that measure each cell, one for each class of a fleet's hosts."""
        self._left: defaultdict[str, float] = defaultdict(float)
        """The times that each cell is still to do; less than one in the midst of its rounds."""
        self._rounds: dict[str, int] = {}
        """The fewest rounds of each cell that its estimate is for."""
        self._clock = clock
        self._started: float | None = None
        self._heard = 0.0
        """The moment at which the last round or cell was over."""
        self.hosts = 1
        """Hosts that share the work."""
        self.add(estimates_s)

    def add(self, estimates_s: Mapping[str, float]) -> None:
        """Count one more run of these cells."""
        for cell_id, seconds in estimates_s.items():
            self._times[cell_id] += 1
            self._estimates_s[cell_id] += seconds
            self._left[cell_id] += 1.0

    def begin(self) -> None:
        """A job is launched; the time before the first one says nothing about the pace."""
        if self._started is None:
            self._started = self._heard = self._clock()

    def visit(self, cell: Cell, job: Job) -> None:
        """A round of this cell is over; beyond the fewest, as many are expected to follow."""
        self._heard = self._clock()
        if self._times[cell.id] == 1 and cell.id in self._left:
            fewest, beyond = job.measure.rounds, job.round - job.measure.rounds
            self._estimates_s[cell.id] *= fewest / self._rounds.setdefault(cell.id, fewest)
            self._rounds[cell.id] = fewest
            further = min(beyond + 1, job.measure.most_rounds - job.round, fewest)
            self._left[cell.id] = max(1, further if beyond >= 0 else -beyond) / fewest

    def end(self, cell: Cell) -> None:
        self._heard = self._clock()
        left = math.ceil(self._left.pop(cell.id, 0.0)) - 1
        if left > 0:
            self._left[cell.id] = left

    @property
    def total(self) -> int:
        return sum(self._times.values())

    @property
    def done(self) -> int:
        return self.total - sum(map(math.ceil, self._left.values()))

    def __str__(self) -> str:
        """The time left at this moment, for lines that are drawn again and again."""
        cells = list(self._left.items())  # while another thread may count one as done
        left_s = sum(self._estimates_s[name] * left / self._times[name] for name, left in cells)
        left = left_s / self.hosts
        if not left:
            return "done"
        passed = 0.0
        if self._started is not None:
            on_time = (self._clock() - self._heard) / self._pace(left, self._heard)
            passed = min(on_time, _ALMOST * left / len(cells))
        left -= passed
        return f"about {format_duration(round(left * self._pace(left, self._clock())))} left"

    def _pace(self, left_s: float, until: float) -> float:
        """Time that cells take by their estimates, as far as is known."""
        if self._started is None:
            return 1.0
        planned = sum(self._estimates_s.values()) / self.hosts
        trust = _ESTIMATES_WEIGHT * planned
        return (until - self._started + trust) / (planned - left_s + trust)


class _Reporter:
    """Counts cells, and tells of records in one line."""

    def __init__(self, clock: _Clock) -> None:
        self._forecast = Forecast({}, clock)
        self._shown: set[Reason | None] = set()

    def _describe(self, record: Record) -> str:
        """The median latency, or status and the reason's first line.

        A reason that was shown, or that the results will show, goes unsaid.
        """
        if record.status == "ok" and record.latency_median_s is not None:
            return f"median {format_number(record.latency_median_s * 1000)} ms"
        if record.ending is None or record.phase == "plan" or record.ending in self._shown:
            return record.status
        self._shown.add(record.ending)
        line = reason_text(record.ending).partition("\n")[0]
        return f"{record.status} ({escape_control_line(line)})"


class PlainObserver(_Reporter):
    """One line per event that matters, for logs and pipes."""

    def __init__(self, clock: _Clock = time.monotonic) -> None:
        super().__init__(clock)

    def note(self, text: str, reason: Reason | None = None) -> None:
        self._shown.add(reason)
        print_note(text)

    def image_step(self, line: str) -> None:
        print_note(line)

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        self._forecast.add(estimates_s)

    def job_started(self, job: Job) -> None:
        self._forecast.begin()
        print_note(f"{job.id}: {_describe_job(job)}")

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Phases are too many for a log."""

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Count the time alone: the round was printed with its job."""
        self._forecast.visit(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        self._forecast.end(cell)
        count = f"{self._forecast.done}/{self._forecast.total}"
        verdict = self._describe(record)
        print_note(f"[{count}] {cell.id}: {verdict}, {self._forecast}")


class LiveObserver(_Reporter):
    """A line per job, alive with the current cell and the count; below it the whole run."""

    def __init__(self, console: "Console", clock: _Clock = time.monotonic) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        super().__init__(clock)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=_BAR),
            TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[now]}", markup=False),
            console=console,
            refresh_per_second=1,  # ten take a percent of a core from what is measured
        )
        self._run = self._progress.add_task("all cells", total=0, now="")
        self._job: Job | None = None
        self._task = self._run

    def __enter__(self) -> "LiveObserver":
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def note(self, text: str, reason: Reason | None = None) -> None:
        self._shown.add(reason)
        console = self._progress.console
        console.print("\n".join(wrap(escape_control(text), console.width)), soft_wrap=True)

    def image_step(self, line: str) -> None:
        """Show the step in the run's line, in place of the one before."""
        self._progress.start()
        room = self._progress.console.width - _BESIDE_STEP
        self._progress.update(self._run, now=_fitted_step(escape_control_line(line), room))

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        self._forecast.add(estimates_s)
        self._progress.update(self._run, total=self._forecast.total)
        self._progress.start()

    def job_started(self, job: Job) -> None:
        """Begin the job's line, or go on with it when the job is launched again."""
        self._forecast.begin()
        self._progress.update(self._run, now=self._forecast)
        if self._job is None or (job.id, job.round) != (self._job.id, self._job.round):
            self._retire()
            self._job = job
            room = max(self._progress.console.width - _BESIDE_NAME, _LEAST_NAME)
            name = "\n".join(wrap(f"{job.id}{_describe_round(job)}", room))
            self._task = self._progress.add_task(name, total=len(job.cells), now="starting")

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        shape = f"{cell.shape} " if cell else ""
        self._progress.update(self._task, now=f"{shape}{phase}")

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Advance the job's count; the cell itself has rounds to come."""
        self._forecast.visit(cell, job)
        self._progress.update(self._task, advance=1, now=f"{cell.shape} visited")
        self._progress.update(self._run, now=self._forecast)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Advance the counts; a verdict other than ok gets a line of its own."""
        self._forecast.end(cell)
        verdict = self._describe(record)
        if record.status != "ok":
            self.note(f"{cell.id}: {verdict}")
        if self._job is not None and cell.job_id == self._job.id:
            now = verdict if record.status == "ok" else record.status
            self._progress.update(self._task, advance=1, now=now)
        self._progress.update(self._run, completed=self._forecast.done, now=self._forecast)

    def _retire(self) -> None:
        """Print the last job's line for good, so that long runs don't outgrow the screen."""
        if self._job is not None:
            self.note(f"{self._job.id}: {_describe_job(self._job)} done")
            self._progress.remove_task(self._task)


def _describe_job(job: Job) -> str:
    """A launch in few words: `3 cells, round 2 of 3`."""
    count = len(job.cells)
    return f"{count} {plural(count, 'cell')}{_describe_round(job)}"


def _describe_round(job: Job) -> str:
    """`, round 2 of 3`, or nothing where there is one round alone.

    Where more may follow, it says so: `round 2 of at least 3`, `round 5 of at most 12`.
    """
    fewest, most = job.measure.rounds, job.measure.most_rounds
    if most == 1:
        return ""
    bound = "" if most == fewest else "at least " if job.round <= fewest else "at most "
    return f", round {job.round} of {bound}{fewest if job.round <= fewest else most}"


def _fitted_step(line: str, room: int) -> str:
    """The line of a build, or its beginning and its end where its middle does not fit."""
    parts = line.split(", ")
    return line if len(line) <= room else f"{parts[0]}, {parts[-1]}"
