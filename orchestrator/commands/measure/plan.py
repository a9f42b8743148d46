"""Plan a matrix: every cell with its decision, the graphs to export first, and the sums."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from orchestrator.backends.catalogue import GRAPH_RUNTIMES
from orchestrator.backends.machine import Machine, this_host, this_machine
from orchestrator.commands.measure.pipelines.jobs import MAX_JOBS, PipelineJob, pipeline_jobs
from orchestrator.commands.measure.pipelines.labels import RUNNER_LABELS
from orchestrator.commands.measure.pipelines.rotation import EVERYTHING, Share
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.planning.estimate import KnownSpeeds, export_estimate
from orchestrator.planning.plan import Decision, Plan, make_plan, mark_done, planned_jobs
from orchestrator.running.run_file import RunSource
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import format_duration, plural
from orchestrator.system.yaml_file import document_text
from runner.contract.cell import Backend, Selector
from runner.contract.errors import NothingToDo, StoreError, UsageError
from runner.contract.graph import GraphKind, NumberFormat

if TYPE_CHECKING:
    from orchestrator.store.query.results import CellSpeed
    from runner.contract.record.verdict import Status

MOST_RUN_CELLS = 100_000
"""Cells of one run: at six seconds each they take a week, and `run.json` has 50 MB."""


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
    """Launches of all jobs, each as often as its cells have rounds at least."""
    most_launches: int
    """The same if no median is precise before the last round."""
    exporting_s: float
    """Seconds of all exports."""
    total_s: float
    """Seconds of all launches and exports."""

    def __str__(self) -> str:
        """Cells by decision, jobs, launches and the whole time, in one line."""
        run, skip, done = (self.decisions.get(word, 0) for word in get_args(Decision))
        least = "at least " if self.most_launches > self.launches else ""
        launches = f" ({least}{self.launches:,} launches)" if self.launches > self.jobs else ""
        return (
            f"{run:,} to run in {self.jobs:,} {plural(self.jobs, 'job')}{launches}, "
            f"{skip:,} to skip, {done:,} done; about {format_duration(round(self.total_s))}"
        )


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
                "reason": entry.reason and reason_text(entry.reason),
                "estimate_s": entry.estimate_s,
                "estimated_by": entry.estimated_by,
            }

    def sums(self) -> PlanSums:
        """Cells, jobs, launches and seconds of the whole plan."""
        jobs = planned_jobs(self.plan)
        exporting_s = sum(export.estimate_s for export in self.exports)
        return PlanSums(
            decisions=Counter(entry.decision for entry in self.plan.entries),
            jobs=len(jobs),
            launches=sum(job.measure.rounds for job in jobs),
            most_launches=sum(job.measure.most_rounds for job in jobs),
            exporting_s=exporting_s,
            total_s=exporting_s + sum(job.estimate_s for job in jobs),
        )


def report_plan(request: PlanRequest, resume: str | None = None) -> PlanReport:
    """Plan for this machine; with the id of a run, its verdicts are `done`."""
    plan = _plan(request, this_machine(request.purpose), resume)
    return with_exports(plan, request)


def plan_jobs(
    request: PlanRequest,
    resume: str | None = None,
    *,
    labels: Mapping[Backend, Sequence[str]] = RUNNER_LABELS,
    most: int = MAX_JOBS,
    share: Share = EVERYTHING,
) -> list[PipelineJob]:
    """Plan for runners of which nothing is known, as the jobs of a CI pipeline."""
    from orchestrator.running.create import nothing_to_do

    plan = _plan(request, Machine(), resume)
    if not plan.with_decision("run") and not plan.with_decision("done"):
        raise nothing_to_do(plan)
    if jobs := pipeline_jobs(plan, labels, most, share):
        return jobs
    raise NothingToDo(
        f"none of the plan's models is in share {share.number} of {share.shares}",
        hint="others are measured in other shares",
    )


def plan_run(
    request: PlanRequest, machine: Machine | None = None, hosts: Collection[str] | None = None
) -> tuple[Plan, RunSource]:
    """Plan for a machine, by default this one, with what `run.json` keeps of the plan's source.

    Args:
        request: the matrix and the options.
        machine: what is known of the machine.
        hosts: the ids of the machines whose past results tell how long cells take; None for this
            one.
    """
    plan = _plan(request, machine or this_machine(request.purpose), hosts=hosts)
    cells = len(plan.entries)
    if cells > MOST_RUN_CELLS:
        raise UsageError(
            f"{cells:,} cells are more than the {MOST_RUN_CELLS:,} that one run may have",
            hint="narrow the axes, or take a part with --select or --limit",
        )
    return plan, run_source(request.matrix, request.command)


def with_exports(plan: Plan, request: PlanRequest) -> PlanReport:
    """The plan with the graphs that its run would export first."""
    return PlanReport(plan, tuple(_exports(plan, request)))


def run_source(matrix: object, command: str | None = None) -> RunSource:
    """The source of a plan: the text of the matrix if it is a file."""
    if not isinstance(matrix, Path):
        return RunSource(command=command)
    return RunSource(matrix=document_text(matrix), matrix_path=matrix, command=command)


def _exports(plan: Plan, request: PlanRequest) -> Iterator[PlannedExport]:
    if all(entry.cell.runtime not in GRAPH_RUNTIMES for entry in plan.with_decision("run")):
        return
    from orchestrator.launchers.registry import preview_launcher
    from orchestrator.running.artifacts.graphs import exports_left

    options = request.options
    launcher = preview_launcher(options.launcher)
    for variant in exports_left(plan, request.results, launcher, options.weights_seed):
        yield PlannedExport(*variant, export_estimate(plan.models[variant.model]))


def _plan(
    request: PlanRequest,
    machine: Machine,
    resume: str | None = None,
    *,
    hosts: Collection[str] | None = None,
) -> Plan:
    database = request.database
    plan = make_plan(
        request.read(),
        selector=Selector(request.select),
        limit=request.limit,
        machine=machine,
        speeds=KnownSpeeds(past_speeds(database, hosts), request.find_forecast(database)),
        progress=request.progress,
    )
    return mark_done(plan, _verdicts(request, resume)) if resume else plan


def past_speeds(database: Path, hosts: Collection[str] | None = None) -> "Mapping[str, CellSpeed]":
    """Speeds of cells before, by id; empty without a readable database.

    Args:
        database: the DuckDB file.
        hosts: the ids of the machines; of several that measured a cell the slowest counts. None for
            this machine.
    """
    if not database.is_file():
        return {}
    if hosts is None:
        hosts = [host for host in [this_host()] if host is not None]
    from orchestrator.store.store import Store

    try:
        with Store.open_readonly(database, wait_s=0) as store:
            known = [store.history(host) for host in sorted(set(hosts))]
    except StoreError:
        return {}
    pairs = [pair for history in known for pair in history.items()]
    return dict(sorted(pairs, key=lambda pair: pair[1].iteration_s))


def _verdicts(request: PlanRequest, run_id: str) -> "Mapping[str, Status]":
    from orchestrator.running.folder import RunFolder

    return RunFolder.open(request.results, run_id).verdicts()
