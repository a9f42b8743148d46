"""Cells become jobs in an order that keeps drift from looking like an axis."""

import random
from collections.abc import Iterable

from orchestrator.estimate import launch_estimate
from orchestrator.plan import Plan
from runner.cell import Cell, Frozen, Limits, Measure
from runner.models import ModelSpec


class JobPlan(Frozen):
    """What one launch of the runner executes."""

    id: str
    """The job's id, unique within its run."""
    model: ModelSpec
    """The model that all cells share."""
    cells: tuple[Cell, ...]
    """The cells, in the order of execution: they differ in shape alone."""
    measure: Measure
    """How long and how often each cell is measured."""
    limits: Limits
    """What the job may use."""
    estimate_s: float
    """Seconds the job may take, start and loading included."""


def schedule(plan: Plan, seed: int) -> list[JobPlan]:
    """The jobs of all cells that will run, jobs and the cells in them in seeded random order.

    The order is drawn over the whole plan, so what a resumed run has left comes in the same order.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in _shuffled((entry.cell for entry in plan.entries), seed):
        groups.setdefault(cell.job_id, []).append(cell)
    estimates = {entry.cell.id: entry.estimate_s for entry in plan.with_decision("run")}
    jobs = []
    for name, cells in groups.items():
        if left := [cell for cell in cells if cell.id in estimates]:
            jobs.append(_job(plan, name, left, sum(estimates[cell.id] for cell in left)))
    return jobs


def _shuffled(cells: Iterable[Cell], seed: int) -> list[Cell]:
    """Sorted first, so that the order depends on the seed and not on the matrix' wording."""
    by_id = {cell.id: cell for cell in cells}
    order = sorted(by_id)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return [by_id[name] for name in order]


def _job(plan: Plan, name: str, cells: list[Cell], seconds: float) -> JobPlan:
    model, backend = plan.models[cells[0].model], cells[0].backend
    return JobPlan(
        id=name,
        model=model,
        cells=tuple(cells),
        measure=plan.measure[backend],
        limits=plan.limits[backend],
        estimate_s=seconds + launch_estimate(model),
    )
