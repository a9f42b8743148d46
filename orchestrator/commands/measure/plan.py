"""Plan a matrix: every cell with its decision, the graphs to export first, and the sums."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import psutil

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import CATALOGUE, GRAPH_RUNTIMES
from orchestrator.backends.machine import Machine, device_lack, others_load, this_host, this_machine
from orchestrator.commands.measure.pipelines.jobs import (
    EVERYTHING,
    MAX_JOBS,
    RUNNER_LABELS,
    PipelineJob,
    Share,
    pipeline_jobs,
)
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.planning.estimate import KnownSpeeds, export_estimate
from orchestrator.planning.plan import (
    Decision,
    Plan,
    RunSource,
    make_plan,
    mark_done,
    planned_jobs,
    side_by_side,
)
from orchestrator.screen.lines import print_line, print_note, stream_json
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.problems import document_text
from orchestrator.system.selector import Selector
from orchestrator.system.text import format_duration, plural
from runner.contract.axes import Backend
from runner.contract.errors import NothingToDo, StoreError, UsageError
from runner.contract.graph import GraphKind, NumberFormat
from runner.contract.reasons import Reason

if TYPE_CHECKING:
    from orchestrator.planning.estimate import EstimateSource
    from orchestrator.store.query.results import CellSpeed


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
class PlanReport:
    """A plan with the graphs that its run would export first."""

    plan: Plan
    exports: tuple[PlannedExport, ...]

    @property
    def exporting_s(self) -> float:
        return sum(export.estimate_s for export in self.exports)

    def sums(self) -> str:
        """Cells by decision, jobs, launches and the whole time, in one line.

        Each version of a job is launched as often as its cells have rounds: at least so often if
        they may have more, where no median is precise or no comparison decided.
        """
        jobs = planned_jobs(self.plan)
        decisions = Counter(entry.decision for entry in self.plan.entries)
        run, skip, done = (decisions.get(word, 0) for word in get_args(Decision))
        versions = {name: group.versions for name, group in self.plan.group_of.items()}
        fewest = sum(job.measure.rounds * versions.get(job.id, 1) for job in jobs)
        may_grow = any(job.measure.most_rounds > job.measure.rounds for job in jobs)
        least = "at least " if may_grow else ""
        launches = f" ({least}{fewest:,} launches)" if fewest > len(jobs) else ""
        total_s = self.exporting_s + sum(job.estimate_s for job in jobs)
        return (
            f"{run:,} to run in {len(jobs):,} {plural(len(jobs), 'job')}{launches}, "
            f"{skip:,} to skip, {done:,} done; about {format_duration(round(total_s))}"
        )

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

    def grouped(self) -> Iterator[dict[str, Any]]:
        """Every job that is measured side by side with others, or in two versions."""
        for job, group in self.plan.group_of.items():
            yield {
                "group": group.name,
                "job_id": job,
                "rounds": group.looks[0],
                "max_rounds": group.looks[-1],
                "together": group.together,
                "versions": group.versions,
            }


def report_plan(request: PlanRequest, resume: str | None = None) -> PlanReport:
    """Plan for this machine; with the id of a run, its verdicts are `done`."""
    return with_exports(_plan(request, _this_machine(request), resume), request)


def _this_machine(request: PlanRequest) -> Machine:
    """This machine, which looks for a device when a cell needs one, and what packages lack."""
    machine = this_machine(request.purpose)
    if request.prepares:
        return machine

    @cache
    def find_lack(backend: Backend) -> Reason | None:
        from orchestrator.launchers.registry import preview_launcher

        stack = CATALOGUE[backend].stack
        find_beside = stack and stack.lacks
        if not find_beside and "cpu" in CATALOGUE[backend].locks:
            return None
        in_container = preview_launcher(request.options.launcher).needs_images
        lack = device_lack(backend, in_container=in_container)
        return find_beside() if find_beside and not lack and not in_container else lack

    load, cores = others_load(), psutil.cpu_count() or 1
    return replace(machine, find_lack=find_lack, load=load, cores=cores)


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
    request: PlanRequest,
    machine: Machine | None = None,
    hosts: Collection[str] | None = None,
    *,
    grouped: bool = True,
) -> tuple[Plan, RunSource]:
    """Plan for a machine, by default this one, with what `run.json` keeps of the plan's source.

    `hosts` are the ids of the machines whose past results tell how long cells take; None for this
    one. What can be measured side by side is `grouped`, unless others decide that.
    """
    plan = _plan(request, machine or _this_machine(request), hosts=hosts, grouped=grouped)
    cells = len(plan.entries)
    if cells > MOST_RUN_CELLS:
        raise UsageError(
            f"{cells:,} cells are more than the {MOST_RUN_CELLS:,} that one run may have",
            hint="narrow the axes, or take a part with --select or --limit",
        )
    if not isinstance(request.matrix, Path):
        return plan, RunSource(command=request.command)
    return plan, source_of(request.matrix, request.command)


def source_of(path: Path, command: str | None = None) -> RunSource:
    return RunSource(matrix=document_text(path), matrix_path=path, command=command)


def with_exports(plan: Plan, request: PlanRequest) -> PlanReport:
    """The plan with the graphs that its run would export first."""
    if all(entry.cell.runtime not in GRAPH_RUNTIMES for entry in plan.with_decision("run")):
        return PlanReport(plan, ())
    from orchestrator.launchers.registry import preview_launcher
    from orchestrator.running.artifacts.graphs import exports_left

    options = request.options
    launcher = preview_launcher(options.launcher)
    exports = (
        PlannedExport(*variant, export_estimate(plan.models[variant.model]))
        for variant in exports_left(plan, request.results, launcher, options.weights_seed)
    )
    return PlanReport(plan, tuple(exports))


def _plan(
    request: PlanRequest,
    machine: Machine,
    resume: str | None = None,
    *,
    hosts: Collection[str] | None = None,
    grouped: bool = True,
) -> Plan:
    database = request.database
    plan = make_plan(
        request.parsed,
        selector=Selector(request.select),
        limit=request.limit,
        machine=machine,
        speeds=KnownSpeeds(past_speeds(database, hosts), request.find_forecast(database)),
        progress=request.progress,
    )
    if grouped and request.is_timed:
        cells = [entry.cell for entry in plan.with_decision("run")]
        plan = side_by_side(plan, [(cells, machine.memory_bytes)])
    if resume is None:
        return plan
    from orchestrator.running.folder import RunFolder

    return mark_done(plan, RunFolder.open(request.results, resume).verdicts())


def past_speeds(database: Path, hosts: Collection[str] | None = None) -> Mapping[str, CellSpeed]:
    """Speeds of cells before, by id; empty without a readable database.

    `hosts` are the ids of machines, of which the slowest counts; None for this one.
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


_MOST_ROWS = 100_000
"""Cells that a table shows: it keeps them all until the columns' widths are known."""
_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("cell"),
    "decision",
    Field("estimate", essential=True, right=True),
    Field("by", essential=True),
    "reason",
)
_ESTIMATES: Mapping[EstimateSource, str] = {
    "measured": "estimates are by what the same cells took here before",
    "predicted": "estimates are predicted from what was measured here",
    "arithmetic": "estimates are by arithmetic: nothing was measured here that tells them",
}
"""Sentences below a table whose estimates have the same source; others have a column."""
_PATIENCE_S = 5.0
"""Seconds between two notes about the planning."""


class PlanningNotes:
    """Notes on stderr about a planning that takes long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted_at = clock()

    def __call__(self, work: str, done: int, total: int) -> None:
        now = self._clock()
        if now - self._noted_at >= _PATIENCE_S:
            self._noted_at = now
            print_note(f"planning: {done:,} of {total:,} cells {work}")


def print_plan(report: PlanReport, *, as_json: bool) -> None:
    """Print every cell with its decision, reason and estimate, then the sums."""
    plan = report.plan
    if as_json:
        known = {"exports": report.exports, "groups": report.grouped(), "notes": plan.notes}
        stream_json({"cells": report.cells(), **known})
        return
    shown = plan.entries[:_MOST_ROWS]
    distinct = dict.fromkeys(entry.reason for entry in shown if entry.reason)
    reasons = {cause: number for number, cause in enumerate(distinct, 1)}
    rows: list[list[object]] = [
        [
            entry.cell.id,
            entry.decision,
            format_duration(round(entry.estimate_s)) if entry.decision == "run" else None,
            entry.estimated_by,
            f"[{reasons[entry.reason]}]" if entry.reason else entry.status or "",
        ]
        for entry in shown
    ]
    sources = {entry.estimated_by for entry in shown if entry.estimated_by}
    kept = [True, True, True, len(sources) > 1, any(row[-1] for row in rows)]
    print_lines([*compress(_COLUMNS, kept)], [[*compress(row, kept)] for row in rows])
    if len(shown) < len(plan.entries):
        print_line(f"… and {len(plan.entries) - len(shown):,} more: --format json tells them all")
    print_line()
    for reason, number in reasons.items():
        print_line(f"[{number}] {reason_text(reason)}")
    if len(sources) == 1:
        print_line(f"note: {_ESTIMATES[sources.pop()]}")
    for note in plan.notes:
        print_line(f"note: {note}")
    if report.exports:
        seconds = format_duration(round(report.exporting_s))
        count = len(report.exports)
        graphs = f"{count} graph{' is' if count == 1 else 's are'}"
        print_line(f"note: {graphs} exported first, in about {seconds}, and kept for later runs")
    print_line(report.sums())
