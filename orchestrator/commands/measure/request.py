"""A request for a plan: a matrix and the options of its run.

It imports little, so that a mistake in either is answered at once.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from orchestrator.backends.machine import this_machine
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.launchers.registry import choose_launcher
from orchestrator.matrix import Matrix, load_matrix
from orchestrator.matrix.available import AvailableBackends
from orchestrator.planning.estimate import FindForecasts, no_forecast
from orchestrator.planning.expand import PlanningProgress, unheard
from orchestrator.running.options import RunOptions
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from runner.contract.cell import Purpose


def available_backends(requested: str, purpose: Purpose) -> AvailableBackends:
    """The backends that `doctor` finds running, by the launcher that a run would choose.

    One whose device is simulated here is left out of what is timed.
    """
    from orchestrator.launchers.diagnosis import runnable

    launcher = choose_launcher(requested, lambda _: None)  # the run says what was chosen
    running, lacking = runnable(launcher), this_machine(purpose).unavailable
    return AvailableBackends(
        launcher,
        [backend for backend in running if backend not in lacking],
        {backend: reason_text(lacking[backend]) for backend in running if backend in lacking},
    )


@dataclass(frozen=True)
class PlanRequest:
    """A matrix, the part of it that is wanted, and the options of its run."""

    matrix: Path | BenchOptions | Matrix
    """The matrix file, the options of `bench` that stand for one, or the matrix itself."""
    overrides: tuple[str, ...] = ()
    """Changes of the file, or of the options of `bench`, `path=value`."""
    select: tuple[str, ...] = ()
    limit: int | None = None
    results: Path = RESULTS_FOLDER
    options: RunOptions = field(default_factory=RunOptions)
    prepares: bool = False
    """True if its graphs are exported and no cell is measured."""
    command: str | None = None
    progress: PlanningProgress = field(default=unheard, compare=False, repr=False)
    find_forecast: FindForecasts = field(default=no_forecast, compare=False, repr=False)
    """Finds what predicts cells on this machine, beside a database."""

    @property
    def database(self) -> Path:
        return self.options.database or self.results / DATABASE_NAME

    @property
    def purpose(self) -> Purpose:
        return "prepare" if self.prepares else self.options.purpose

    @property
    def is_timed(self) -> bool:
        return self.purpose in ("measure", "time")

    @cached_property
    def parsed(self) -> Matrix:
        """The matrix, read once."""
        if isinstance(self.matrix, Path):
            return load_matrix(self.matrix, self.overrides)
        if isinstance(self.matrix, BenchOptions):
            find = partial(available_backends, self.options.launcher, self.purpose)
            return bench_matrix(self.matrix, self.overrides, find)
        return self.matrix
