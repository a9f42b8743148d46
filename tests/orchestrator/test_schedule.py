"""Jobs and their cells come in a random order that the seed alone decides."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plan import make_plan, mark_done
from orchestrator.schedule import JobPlan, schedule
from tests.orchestrator.matrices import matrix_of

AXES: dict[str, list[Any]] = {
    "model": ["bert-tiny", "gpt2", "vit-base"],
    "precision": ["fp32", "bf16", "fp16"],
    "batch_size": [1, 2, 4, 8],
    "sequence_length": [64, 128],
}
PLAN = make_plan(matrix_of(AXES, measure={"profile": "quick"}))


def order(jobs: list[JobPlan]) -> list[str]:
    return [cell.id for job in jobs for cell in job.cells]


@given(st.integers())
def test_each_cell_that_runs_is_in_exactly_one_job(seed: int) -> None:
    jobs = schedule(PLAN, seed)
    expected = [entry.cell.id for entry in PLAN.with_decision("run")]
    assert sorted(order(jobs)) == sorted(expected)
    assert len({job.id for job in jobs}) == len(jobs) == 6


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
    assert order(schedule(PLAN, 7)) == order(schedule(make_plan(backwards), 7))
    assert len({tuple(order(schedule(PLAN, seed))) for seed in range(20)}) == 20
    assert len({schedule(PLAN, seed)[0].id for seed in range(50)}) > 1


@given(st.sets(st.sampled_from([entry.cell.id for entry in PLAN.entries])))
def test_what_a_resumed_run_has_left_comes_in_the_same_order(finished: set[str]) -> None:
    rest = mark_done(PLAN, dict.fromkeys(finished, "ok"))
    expected = [name for name in order(schedule(PLAN, 3)) if name not in finished]
    assert order(schedule(rest, 3)) == expected


def test_a_job_carries_what_its_launch_needs() -> None:
    job = schedule(PLAN, 0)[0]
    estimates = {entry.cell.id: entry.estimate_s for entry in PLAN.entries}
    assert job.measure.profile == "quick"
    assert job.limits == PLAN.limits["cpu"]
    assert job.estimate_s > sum(estimates[cell.id] for cell in job.cells)
