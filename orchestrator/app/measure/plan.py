"""Plan a matrix: every cell with its decision, the graphs to export first, and the sums."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.app.setup.github import github_matrix
from orchestrator.backends.machine import Machine, this_machine
from orchestrator.launchers.registry import preview_launcher
from orchestrator.matrix import Matrix, load_matrix
from orchestrator.matrix.from_options import BenchOptions, bench_matrix
from orchestrator.planning.estimate import export_estimate
from orchestrator.planning.expand import PlanningProgress, unheard
from orchestrator.planning.plan import Decision, Plan, make_plan, mark_done
from orchestrator.planning.schedule import planned_jobs
from orchestrator.running.create import nothing_to_do, past_durations
from orchestrator.running.folder import RunFolder
from orchestrator.running.graphs import exports_left
from orchestrator.running.run_file import RunOptions, RunSource
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from orchestrator.system.yaml_file import document_text
from runner.contract.cell import Selector
from runner.contract.errors import UsageError
from runner.contract.graph import GraphKind, NumberFormat

MOST_RUN_CELLS = 100_000
"""Cells of one run: at six seconds each they take a week, and `run.json` has 50 MB."""


@dataclass(frozen=True)
class PlanRequest:
    """A matrix, the part of it that is wanted, and the options of its run."""

    matrix: Path | BenchOptions | Matrix
    """The matrix file, the options of `bench` that stand for one, or the matrix itself."""
    overrides: tuple[str, ...] = ()
    """Changes of the file, or of the options of `bench`, `path=value`."""
    select: tuple[str, ...] = ()
    """Globs that keep cells."""
    limit: int | None = None
    """At most so many cells run."""
    results: Path = RESULTS_FOLDER
    """The folder of all runs."""
    options: RunOptions = field(default_factory=RunOptions)
    """Options of the run that is planned."""
    command: str | None = None
    """The command line, for `run.json`."""
    progress: PlanningProgress = field(default=unheard, compare=False, repr=False)
    """Hears how far the planning is."""

    @property
    def database(self) -> Path:
        """The database named, or the one in the results folder."""
        return self.options.database or self.results / DATABASE_NAME


@dataclass(frozen=True)
class PlannedExport:
    """A graph that a run would export first."""

    model: str
    content: GraphKind
    numbers: NumberFormat
    estimate_s: float


@dataclass(frozen=True)
class PlanSums:
    """Sums over a plan."""

    decisions: Mapping[Decision, int]
    """Cells by decision."""
    jobs: int
    launches: int
    """Launches of all jobs, each as often as its cells have rounds."""
    exporting_s: float
    """Seconds of all exports."""
    total_s: float
    """Seconds of all launches and exports."""


@dataclass(frozen=True)
class PlanReport:
    """A plan with the graphs that its run would export first."""

    plan: Plan
    exports: tuple[PlannedExport, ...]

    def cells(self) -> Iterator[dict[str, Any]]:
        """Every cell as one flat row: ids, axes, decision, reason, estimate."""
        for entry in self.plan.entries:
            cell = entry.cell
            yield {
                "cell_id": cell.id,
                "job_id": cell.job_id,
                **vars(cell),
                "decision": entry.decision,
                "status": entry.status,
                "reason": entry.reason,
                "estimate_s": entry.estimate_s,
            }

    def sums(self) -> PlanSums:
        """Cells, jobs, launches and seconds of the whole plan."""
        jobs = planned_jobs(self.plan)
        exporting_s = sum(export.estimate_s for export in self.exports)
        return PlanSums(
            decisions=Counter(entry.decision for entry in self.plan.entries),
            jobs=len(jobs),
            launches=sum(job.measure.rounds for job in jobs),
            exporting_s=exporting_s,
            total_s=exporting_s + sum(job.estimate_s for job in jobs),
        )


def report_plan(request: PlanRequest, resume: str | None = None) -> PlanReport:
    """Plan for this machine; with the id of a run, its verdicts are `done`.

    Raises:
        UsageError: the matrix or an option is wrong, or there is no such run.
        StoreError: the run's folder cannot be read.
    """
    options = request.options
    plan = _plan(request, this_machine(options.purpose), resume)
    launcher = preview_launcher(options.launcher)
    exports = tuple(
        PlannedExport(*variant, export_estimate(plan.models[variant.model]))
        for variant in exports_left(plan, request.results, launcher, options.seed)
    )
    return PlanReport(plan, exports)


def plan_for_github(request: PlanRequest, resume: str | None = None) -> dict[str, Any]:
    """Plan for runners of which nothing is known, as GitHub's `strategy.matrix`.

    Raises:
        UsageError: the matrix or an option is wrong, or GitHub cannot run it.
        StoreError: the run's folder cannot be read.
    """
    plan = _plan(request, Machine(), resume)
    if not plan.with_decision("run") and not plan.with_decision("done"):
        raise nothing_to_do(plan)
    return github_matrix(plan)


def plan_run(request: PlanRequest) -> tuple[Plan, RunSource]:
    """Plan for this machine, with what `run.json` keeps of the plan's source.

    Raises:
        UsageError: the matrix or an option is wrong, or the plan is too large for one run.
    """
    plan = _plan(request, this_machine(request.options.purpose))
    cells = len(plan.entries)
    if cells > MOST_RUN_CELLS:
        raise UsageError(
            f"{cells:,} cells are more than the {MOST_RUN_CELLS:,} that one run may have",
            hint="narrow the axes, or take a part with --select or --limit",
        )
    return plan, run_source(request.matrix, request.command)


def run_source(matrix: object, command: str | None = None) -> RunSource:
    """The source of a plan: the text of the matrix if it is a file."""
    if not isinstance(matrix, Path):
        return RunSource(command=command)
    return RunSource(matrix=document_text(matrix), matrix_path=matrix, command=command)


def _plan(request: PlanRequest, machine: Machine, resume: str | None = None) -> Plan:
    done = RunFolder.open(request.results, resume).verdicts() if resume else {}
    plan = make_plan(
        _matrix(request),
        selector=Selector(request.select),
        limit=request.limit,
        machine=machine,
        history=past_durations(request.database),
        progress=request.progress,
    )
    return mark_done(plan, done)


def _matrix(request: PlanRequest) -> Matrix:
    if isinstance(request.matrix, Path):
        return load_matrix(request.matrix, request.overrides)
    if isinstance(request.matrix, BenchOptions):
        return bench_matrix(request.matrix, request.overrides)
    return request.matrix
