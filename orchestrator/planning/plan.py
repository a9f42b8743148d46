"""The plan: every cell with a decision and its reason; and its jobs, in an order against drift."""

import gc
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import ConfigDict

from orchestrator.backends.machine import Machine
from orchestrator.matrix import Matrix
from orchestrator.planning.estimate import (
    CellForecasts,
    EstimateSource,
    KnownSpeeds,
    duration_remarks,
    iteration_estimate,
    launch_estimate,
    memory_remarks,
    timed_estimate,
)
from orchestrator.planning.expand import (
    PlanningProgress,
    counted,
    drained,
    expand,
    nothing_selected,
    unheard,
)
from orchestrator.planning.groups import JobGroup, find_groups
from orchestrator.planning.memory import beyond_wasm, shortage
from orchestrator.system.selector import Selector
from runner.contract.axes import Backend
from runner.contract.cell import Cell, Frozen
from runner.contract.errors import StoreError, UsageError
from runner.contract.job import Limits, Measure
from runner.contract.models import ModelSpec
from runner.contract.reasons import Reason, reason
from runner.contract.record.verdict import Status

if TYPE_CHECKING:
    from orchestrator.store.query.results import CellSpeed

Decision = Literal["run", "skip", "done"]
_NO_SPEEDS = KnownSpeeds()
_UNKNOWN = Machine()
UNQUOTABLE_LOAD = 0.2
"""Share of the CPU time of others beyond which the runner gives grade D."""
MOST_PREDICTED = 5_000
"""Cells of a plan that are predicted, so that a plan of 100,000 stays one of seconds."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell and what happens to it; no pydantic value, as plans hold up to a million of them."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    cell: Cell
    decision: Decision
    status: Status | None = None
    """The status of a cell that is skipped or done; null for one that will run."""
    reason: Reason | None = None
    estimate_s: float = 0
    """Seconds it may take; 0 unless it will run."""
    launch_s: float = 0
    """Seconds that a launch may take before it; 0 unless it will run."""
    iteration_s: float = 0
    """Seconds of an iteration, from which `estimate_s` follows; 0 unless it will run."""
    estimated_by: EstimateSource | None = None
    """The origin of `estimate_s`; null unless it will run."""


class RunSource(Frozen):
    """The matrix and the command line that a run came from."""

    matrix: str | None = None
    """The matrix as text; null when options stood for one."""
    matrix_path: Path | None = None
    command: str | None = None


class Plan(Frozen):
    """Every cell of a run, in the matrix' order. Saved in the run's folder as JSON."""

    entries: tuple[PlannedCell, ...]
    notes: tuple[str, ...]
    """Sentences about cells that were collapsed, left out by a selector or cut by a limit."""
    whole: bool
    """True if neither a selector nor a limit took cells out of the matrix."""
    models: dict[str, ModelSpec]
    measure: dict[Backend, Measure]
    limits: dict[Backend, Limits]
    groups: tuple[JobGroup, ...] = ()
    """Jobs that are measured side by side."""

    @cached_property
    def group_of(self) -> Mapping[str, JobGroup]:
        """The groups by the ids of their jobs."""
        return {job: group for group in self.groups for job in group.jobs}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, which looks up its own groups."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("group_of", None)
        return copied

    def measure_of(self, cell: Cell) -> Measure:
        group = self.group_of.get(cell.job_id)
        return group.measure if group else self.measure[cell.backend]

    def with_decision(self, decision: Decision) -> list[PlannedCell]:
        return [entry for entry in self.entries if entry.decision == decision]


def make_plan(
    matrix: Matrix,
    *,
    selector: Selector | None = None,
    limit: int | None = None,
    machine: Machine = _UNKNOWN,
    speeds: KnownSpeeds = _NO_SPEEDS,
    progress: PlanningProgress = unheard,
) -> Plan:
    """Decide about every cell of the matrix that the selector keeps; at most `limit` cells run.

    Raises:
        MatrixError: the matrix makes an impossible cell.
        NothingToDo: it makes no cell, or the selector keeps none.
    """
    selector = selector or Selector()
    with _no_garbage_collection():
        expansion = expand(matrix, progress)
        notes, cells = list(expansion.notes), len(expansion.cells)
        selected = [entry for entry in expansion.cells if selector.keeps(entry[0])]
        if not selected:
            raise nothing_selected(expansion, selector)
        if len(selected) < cells:
            notes.append(f"--select leaves out {cells - len(selected):,} of {cells:,} cells")
        del expansion
        undecided = counted(drained(selected), "decided", len(selected), progress)
        entries = list(_cut(_decide(undecided, matrix, machine, speeds.measured), limit, notes))
    if speeds.forecast is not None:
        notes += _forecast(entries, matrix, machine, speeds.forecast)
    seconds = ((entry.cell, entry.estimate_s) for entry in entries)
    notes += duration_remarks(seconds, matrix.limits, matrix.measure)
    runs = any(entry.decision == "run" for entry in entries)
    if runs and 1 - 1 / machine.slowdown > UNQUOTABLE_LOAD:
        notes.append(
            f"this machine is busy: load {machine.load:.2g} on {machine.cores} cores; expect about"
            f" {machine.slowdown:.2g} times as long as alone, and grade D for what is timed"
        )
    names = {entry.cell.model for entry in entries}
    backends = {entry.cell.backend for entry in entries}
    return Plan(
        entries=tuple(entries),
        notes=tuple(notes),
        whole=len(entries) == cells,
        models={name: spec for name, spec in matrix.models.items() if name in names},
        measure={key: value for key, value in matrix.measure.items() if key in backends},
        limits={key: value for key, value in matrix.limits.items() if key in backends},
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the search for cycles: it would visit every new cell again and again, and find none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def side_by_side(plan: Plan, parts: Iterable[tuple[Iterable[Cell], int | None]]) -> Plan:
    """The plan with the groups of cells that one host measures, by its bytes of memory."""
    grouping = find_groups(parts, plan.models, plan.measure, plan.limits)
    noted = plan.model_copy(update={"notes": (*plan.notes, *grouping.notes())})
    return with_groups(noted, grouping.groups)


def with_groups(plan: Plan, groups: Sequence[JobGroup]) -> Plan:
    """The plan with these groups, whose cells have estimates of their rounds."""
    grouped = plan.model_copy(update={"groups": tuple(groups)})

    def estimated(entry: PlannedCell) -> PlannedCell:
        cell = entry.cell
        if entry.decision != "run" or (group := grouped.group_of.get(cell.job_id)) is None:
            return entry
        seconds = timed_estimate(cell, entry.iteration_s, group.measure, in_bursts=group.together)
        launches_s = group.versions * entry.launch_s
        return replace(entry, estimate_s=group.versions * seconds, launch_s=launches_s)

    if not groups:
        return grouped
    return grouped.model_copy(update={"entries": tuple(map(estimated, plan.entries))})


def mark_done(plan: Plan, done: Mapping[str, Status]) -> Plan:
    if not done:
        return plan
    entries = tuple(
        PlannedCell(cell=entry.cell, decision="done", status=status, reason=entry.reason)
        if (status := done.get(entry.cell.id))
        else entry
        for entry in plan.entries
    )
    return plan.model_copy(update={"entries": entries})


def _decide(
    cells: Iterable[tuple[Cell, Reason | None]],
    matrix: Matrix,
    machine: Machine,
    history: "Mapping[str, CellSpeed]",
) -> Iterator[PlannedCell]:
    for cell, unsupported in cells:
        model, limits = matrix.models[cell.model], matrix.limits[cell.backend]
        if unsupported:
            yield _skip(cell, "unsupported", unsupported)
        elif lack := beyond_wasm(cell, model):
            yield _skip(cell, "unsupported", reason("predicted", cause=lack))
        elif missing := machine.lack(cell.backend):
            yield _skip(cell, "unavailable", missing)
        elif lack := shortage(cell, model, limits, machine.memory_bytes):
            yield _skip(cell, "out_of_memory", reason("predicted", cause=lack))
        else:
            before = history.get(cell.id) if history else None
            iteration = iteration_estimate(cell, model, before, None, machine.slowdown)
            yield PlannedCell(
                cell=cell,
                decision="run",
                estimate_s=timed_estimate(cell, iteration, matrix.measure[cell.backend]),
                iteration_s=iteration,
                launch_s=machine.slowdown * launch_estimate(model, before),
                estimated_by="measured" if before else "arithmetic",
            )


def _skip(cell: Cell, status: Status, explanation: Reason) -> PlannedCell:
    return PlannedCell(cell=cell, decision="skip", status=status, reason=explanation)


def _forecast(
    entries: list[PlannedCell], matrix: Matrix, machine: Machine, forecast: CellForecasts
) -> list[str]:
    """Put predicted seconds in the place of those by arithmetic; sentences about the rest."""
    numbers = [number for number, entry in enumerate(entries) if entry.estimated_by == "arithmetic"]
    if len(numbers) > MOST_PREDICTED:
        count = f"{len(numbers):,} cells were not measured here"
        return [f"{count}, more than the {MOST_PREDICTED:,} that a plan predicts"]
    cells = [entries[number].cell for number in numbers]
    try:
        forecasts = forecast(cells, matrix.models)
    except (StoreError, UsageError) as error:
        return [f"seconds are not predicted: {error}"]
    for number, cell, predicted in zip(numbers, cells, forecasts, strict=True):
        if predicted.iteration_s is not None:
            model, known_s = matrix.models[cell.model], predicted.iteration_s
            iteration = iteration_estimate(cell, model, None, known_s, machine.slowdown)
            entries[number] = replace(
                entries[number],
                estimate_s=timed_estimate(cell, iteration, matrix.measure[cell.backend]),
                iteration_s=iteration,
                estimated_by="predicted",
            )
    pairs = zip(cells, forecasts, strict=True)
    return [*memory_remarks(pairs, matrix.limits, machine.memory_bytes)]


def _cut(
    entries: Iterable[PlannedCell], limit: int | None, notes: list[str]
) -> Iterator[PlannedCell]:
    running = 0
    for entry in entries:
        running += entry.decision == "run"
        if entry.decision != "run" or limit is None or running <= limit:
            yield entry
    if limit is not None and running > limit:
        notes.append(f"--limit {limit:,} leaves out {running - limit:,} of {running:,} cells")


class JobPlan(Frozen):
    """The cells that one launch of the runner executes."""

    id: str
    round: int
    model: ModelSpec
    cells: tuple[Cell, ...]
    measure: Measure
    limits: Limits
    estimate_s: float
    """Seconds the launch may take, start and loading included."""


def schedule(plan: Plan, seed: int) -> Iterator[tuple[JobPlan, ...]]:
    """The launches that cells may take, round after round, as many as each can have at most.

    Those of a group are one element. The seed alone decides about the random order of each round's
    jobs and cells. It is drawn over the whole plan, so what a resumed run has left comes in the
    same order.
    """
    measures = (*plan.measure.values(), *(group.measure for group in plan.groups))
    rounds = max((measure.most_rounds for measure in measures), default=1)
    by_id = {entry.cell.id: entry.cell for entry in plan.entries}
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    for round_ in range(1, rounds + 1):
        order = sorted(by_id)
        chance.shuffle(order)
        units: dict[object, list[JobPlan]] = {}
        for job in _round(plan, [by_id[name] for name in order], round_):
            units.setdefault(plan.group_of.get(job.id, job.id), []).append(job)
        yield from map(tuple, units.values())


def planned_jobs(plan: Plan) -> list[JobPlan]:
    """Each job once, by id, with the estimate of its fewest launches, which are alike."""
    order = sorted((entry.cell for entry in plan.entries), key=lambda cell: cell.id)
    jobs = [
        job.model_copy(update={"estimate_s": job.estimate_s * job.measure.rounds})
        for job in _round(plan, order, 1)
    ]
    return sorted(jobs, key=lambda job: job.id)


def _round(plan: Plan, order: Sequence[Cell], round_: int) -> Iterator[JobPlan]:
    due = {entry.cell.id: entry for entry in plan.with_decision("run")}
    groups: dict[str, list[Cell]] = {}
    for cell in order:
        groups.setdefault(cell.job_id, []).append(cell)
    for name, cells in groups.items():
        measure = plan.measure_of(cells[0])
        entries = [due[cell.id] for cell in cells if cell.id in due]
        if entries and round_ <= measure.most_rounds:
            seconds = sum(entry.estimate_s for entry in entries) / measure.rounds
            yield JobPlan(
                id=name,
                round=round_,
                model=plan.models[cells[0].model],
                cells=tuple(entry.cell for entry in entries),
                measure=measure,
                limits=plan.limits[cells[0].backend],
                estimate_s=seconds + max(entry.launch_s for entry in entries),
            )
