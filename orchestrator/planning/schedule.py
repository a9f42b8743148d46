"""Cells become jobs in an order that keeps drift from looking like an axis."""

import random
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.planning.plan import Plan, PlannedCell
from runner.contract.cell import Cell, Frozen
from runner.contract.job import Limits, Measure
from runner.contract.models import ModelSpec


class JobPlan(Frozen):
    """The cells that one launch of the runner executes."""

    id: str
    round: int
    model: ModelSpec
    cells: tuple[Cell, ...]
    """The cells, in the order of execution: they share model, runtime, precision and mode."""
    measure: Measure
    limits: Limits
    estimate_s: float
    """Seconds the launch may take, start and loading included."""


def schedule(plan: Plan, seed: int) -> Iterator[JobPlan]:
    """The launches that cells may take, round after round, as many as each can have at most.

    In every round the jobs, and the cells in them, come in a fresh random order, which the seed
    alone decides. It is drawn over the whole plan, so what a resumed run has left comes in the
    same order.
    """
    rounds = max((measure.most_rounds for measure in plan.measure.values()), default=1)
    orders = _orders([entry.cell for entry in plan.entries], seed)
    due = _due(plan)
    for round_ in range(1, rounds + 1):
        yield from _round(plan, due, next(orders), round_)


def planned_jobs(plan: Plan) -> list[JobPlan]:
    """Each job once, by id, with the estimate of its fewest launches, which are alike."""
    order = sorted((entry.cell for entry in plan.entries), key=lambda cell: cell.id)
    jobs = [
        job.model_copy(update={"estimate_s": job.estimate_s * job.measure.rounds})
        for job in _round(plan, _due(plan), order, 1)
    ]
    return sorted(jobs, key=lambda job: job.id)


def _orders(cells: Sequence[Cell], seed: int) -> Iterator[list[Cell]]:
    by_id = {cell.id: cell for cell in cells}
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    while True:
        order = sorted(by_id)
        chance.shuffle(order)
        yield [by_id[name] for name in order]


def _due(plan: Plan) -> Mapping[str, PlannedCell]:
    return {entry.cell.id: entry for entry in plan.with_decision("run")}


def _round(
    plan: Plan, due: Mapping[str, PlannedCell], order: Sequence[Cell], round_: int
) -> Iterator[JobPlan]:
    groups: dict[str, list[Cell]] = {}
    for cell in order:
        groups.setdefault(cell.job_id, []).append(cell)
    for name, cells in groups.items():
        left = [due[cell.id] for cell in cells if cell.id in due]
        if left and round_ <= plan.measure[cells[0].backend].most_rounds:
            yield _job(plan, name, left, round_)


def _job(plan: Plan, name: str, entries: Sequence[PlannedCell], round_: int) -> JobPlan:
    cells = [entry.cell for entry in entries]
    backend = cells[0].backend
    measure = plan.measure[backend]
    seconds = sum(entry.estimate_s for entry in entries) / measure.rounds
    return JobPlan(
        id=name,
        round=round_,
        model=plan.models[cells[0].model],
        cells=tuple(cells),
        measure=measure,
        limits=plan.limits[backend],
        estimate_s=seconds + max(entry.launch_s for entry in entries),
    )
