"""Jobs and their cells come in a random order that the seed alone decides."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.planning.plan import (
    JobPlan,
    Plan,
    make_plan,
    mark_done,
    planned_jobs,
    side_by_side,
)
from orchestrator.planning.plan import schedule as launches
from tests.support.matrices import matrix_of

AXES: dict[str, list[Any]] = {
    "model": ["bert-tiny", "gpt2", "vit-base"],
    "precision": ["fp32", "bf16", "fp16"],
    "batch_size": [1, 2, 4, 8],
    "sequence_length": [64, 128],
    "mode": ["training"],
}
PLAN = make_plan(matrix_of(AXES, measure={"profile": "quick"}))
ROUNDS = 3
IN_ROUNDS = PLAN.model_copy(
    update={"measure": {"cpu": PLAN.measure["cpu"].model_copy(update={"rounds": ROUNDS})}}
)

FEW = settings(max_examples=25)
"""Each example plans a whole matrix."""


def order(jobs: list[JobPlan]) -> list[str]:
    return [cell.id for job in jobs for cell in job.cells]


@FEW
@given(st.integers())
def test_the_cells_of_a_job_differ_in_shape_alone(seed: int) -> None:
    for job in schedule(PLAN, seed):
        shapeless = {
            cell.model_copy(update={"batch_size": 1, "sequence_length": None}) for cell in job.cells
        }
        assert len(shapeless) == 1
        assert {cell.job_id for cell in job.cells} == {job.id}
        assert {cell.model for cell in job.cells} == {job.model.name}


def test_the_order_depends_on_the_seed_and_on_nothing_else() -> None:
    backwards = matrix_of({axis: values[::-1] for axis, values in AXES.items()})
    assert schedule(PLAN, 7) == schedule(PLAN, 7)
    again = of_round(schedule(make_plan(backwards), 7), 1)
    assert order(of_round(schedule(PLAN, 7), 1)) == order(again)
    assert len({tuple(order(schedule(PLAN, seed))) for seed in range(20)}) == 20
    assert len({schedule(PLAN, seed)[0].id for seed in range(50)}) > 1


def schedule(plan: Plan, seed: int) -> list[JobPlan]:
    return [job for unit in launches(plan, seed) for job in unit]


def of_round(jobs: list[JobPlan], number: int) -> list[JobPlan]:
    return [job for job in jobs if job.round == number]


@FEW
@given(st.integers())
def test_every_round_visits_every_cell_once(seed: int) -> None:
    jobs = schedule(IN_ROUNDS, seed)
    expected = sorted(entry.cell.id for entry in PLAN.with_decision("run"))
    assert len({job.id for job in jobs}) == len(jobs) / ROUNDS == 9
    for number in range(1, ROUNDS + 1):
        assert sorted(order(of_round(jobs, number))) == expected
    assert [job.round for job in jobs] == sorted(job.round for job in jobs)


def test_each_round_has_an_order_of_its_own_for_jobs_and_cells() -> None:
    jobs = schedule(IN_ROUNDS, 7)
    rounds = [of_round(jobs, number) for number in range(1, ROUNDS + 1)]
    assert len({tuple(job.id for job in round_) for round_ in rounds}) == ROUNDS
    (name,) = {round_[0].id for round_ in rounds[:1]}
    assert len({job.cells for job in jobs if job.id == name}) == ROUNDS


def test_rounds_share_the_time_of_measuring_and_each_loads_anew() -> None:
    once, thrice = planned_jobs(PLAN), planned_jobs(IN_ROUNDS)
    assert [job.id for job in once] == [job.id for job in thrice] == sorted({j.id for j in once})
    loads = [
        (b.estimate_s - a.estimate_s) / (ROUNDS - 1) for a, b in zip(once, thrice, strict=True)
    ]
    cells = sum(entry.estimate_s for entry in PLAN.with_decision("run"))
    assert sum(job.estimate_s for job in once) == pytest.approx(cells + sum(loads))


@FEW
@given(st.sets(st.sampled_from([entry.cell.id for entry in PLAN.entries])))
def test_what_is_left_keeps_its_order_in_every_round(finished: set[str]) -> None:
    rest = mark_done(IN_ROUNDS, dict.fromkeys(finished, "ok"))
    for number in range(1, ROUNDS + 1):
        whole = order(of_round(schedule(IN_ROUNDS, 3), number))
        left = order(of_round(schedule(rest, 3), number))
        assert left == [name for name in whole if name not in finished]


def in_groups() -> Plan:
    """Three jobs of each model that wait beside each other, and one of another mode."""
    axes = AXES | {"model": ["bert-tiny", "gpt2"], "mode": ["inference", "training"]}
    plan = make_plan(
        matrix_of(axes | {"precision": ["fp32", "bf16"]}, measure={"profile": "quick"})
    )
    return side_by_side(plan, [([entry.cell for entry in plan.entries], None)])


@FEW
@given(st.integers())
def test_jobs_of_a_group_are_due_together_in_each_of_its_rounds(seed: int) -> None:
    plan = in_groups()
    units = [*launches(plan, seed)]
    members = Counter(frozenset(job.id for job in unit) for unit in units)
    assert members == {frozenset(group.jobs): ROUNDS for group in plan.groups}
    assert [unit[0].round for unit in units] == sorted(unit[0].round for unit in units)
    assert all(len({job.round for job in unit}) == 1 for unit in units)
    assert len({unit[0].id for unit in units}) > 1


def test_what_is_left_of_a_group_is_one_unit_without_its_finished_jobs() -> None:
    plan = in_groups()
    group = plan.groups[0]
    done = [entry.cell.id for entry in plan.entries if entry.cell.job_id == group.jobs[0]]
    (unit,) = (
        unit
        for unit in launches(mark_done(plan, dict.fromkeys(done, "ok")), 3)
        if unit[0].round == 2 and unit[0].id in group.jobs
    )
    assert {job.id for job in unit} == {*group.jobs[1:]}
    assert {job.measure.rounds for job in unit} == {ROUNDS}
