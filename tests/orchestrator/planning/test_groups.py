"""What is measured side by side: jobs of one question, as far as they can wait for each other."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.commands.measure.plan import PlanReport
from orchestrator.planning.estimate import FEWEST_BLOCKS, timed_estimate
from orchestrator.planning.groups import connected, group_of_versions, looks_of, rounds_of
from orchestrator.planning.memory import memory_need_bytes
from orchestrator.planning.plan import Plan, make_plan, planned_jobs, side_by_side, with_groups
from runner.contract.cell import Cell
from runner.contract.job import PROFILES
from runner.contract.models import find
from tests.support.jobs import fake_cell
from tests.support.matrices import matrix_of

MODEL = "bert-tiny"
BOTH: dict[str, Any] = {"backend": "cpu", "runtime": ["torch", "onnxruntime"]}


def grouped(
    axes: Mapping[str, Any], memory_bytes: int | None = None, *, profile: str = "quick", **rest: Any
) -> Plan:
    """The plan of a matrix with its groups."""
    measure = {"profile": profile, **rest.pop("measure", {})}
    plan = make_plan(matrix_of({"model": MODEL, **axes}, measure=measure, **rest))
    cells = [entry.cell for entry in plan.with_decision("run")]
    return side_by_side(plan, [(cells, memory_bytes)])


def short(job: str) -> str:
    """An id without what all jobs of these tests have in common."""
    return job.replace(f"-{MODEL}", "").replace("-fp32", "").replace("-inference", "")


def members(plan: Plan) -> list[list[str]]:
    return [[short(job) for job in group.jobs] for group in plan.groups]


def notes(plan: Plan) -> list[str]:
    return [short(note) for note in plan.notes]


@pytest.mark.parametrize(
    ("axes", "rest", "expected"),
    [
        (BOTH, {}, [["cpu", "cpu-onnxruntime"]]),
        ({"backend": ["cpu", "openvino"]}, {}, [["cpu", "openvino"]]),
        ({"precision": ["fp32", "bf16"]}, {}, [["cpu", "cpu-bf16"]]),
        ({"threads": [1, 2]}, {}, [["cpu-t1", "cpu-t2"]]),
        ({"batch_size": [1, 8]}, {}, []),
        ({"mode": ["inference", "training"]}, {}, []),
        ({"backend": ["cpu", "cuda"]}, {}, []),
        (
            {"backend": ["cpu", "cuda"], "precision": ["fp32", "bf16"]},
            {},
            [["cpu", "cpu-bf16"], ["cuda", "cuda-bf16"]],
        ),
        (
            {**BOTH, "mode": ["inference", "training"], "precision": ["fp32", "bf16"]},
            {"exclude": [{"runtime": "onnxruntime"}]},
            [["cpu", "cpu-bf16"], ["cpu-training", "cpu-bf16-training"]],
        ),
        ({**BOTH, "model": [MODEL, "gpt2"]}, {}, [
            ["cpu", "cpu-onnxruntime"], ["cpu-gpt2", "cpu-onnxruntime-gpt2"]
        ]),
        ({"model": [MODEL, "gpt2"]}, {}, []),
        ({"model": [MODEL, "gpt2"]}, {"measure": {"side_by_side": True}}, [["cpu", "cpu-gpt2"]]),
        ({"model": [MODEL, "vit-base"]}, {"measure": {"side_by_side": True}}, []),
        (
            {"model": [MODEL, "gpt2", "vit-base", "vit-tiny"]},
            {"measure": {"side_by_side": True}},
            [["cpu", "cpu-gpt2"], ["cpu-vit-base", "cpu-vit-tiny"]],
        ),
        (BOTH, {"measure": {"side_by_side": False}}, []),
        (
            {"backend": ["cpu", "openvino"], "precision": ["fp32", "int8"]},
            {"backends": {"openvino": {"measure": {"side_by_side": False}}}},
            [["cpu", "cpu-int8"]],
        ),
    ],
    ids=[
        *("runtimes", "backends on one device", "precisions", "threads", "other sizes"),
        *("other modes", "other devices", "two devices", "two modes", "two models"),
        *("one path of two models", "models if the measure says so", "no question in common"),
        *("text and images", "none if the measure says so", "one backend stays out"),
    ],
)  # fmt: skip
def test_jobs_of_one_question_on_one_device_belong_together(
    axes: dict[str, Any], rest: dict[str, Any], expected: list[list[str]]
) -> None:
    plan = grouped(axes, **rest)
    assert members(plan) == expected
    assert len({group.name for group in plan.groups}) == len(plan.groups)
    assert [note for note in plan.notes if "alone" in note] == []


@pytest.mark.parametrize(
    ("axes", "rest", "together", "why"),
    [
        (
            {"runtime": ["torch", "onnxruntime", "torch_compile"]},
            {},
            [["cpu", "cpu-onnxruntime"]],
            "1 job is measured alone, since torch_compile compiles anew at each launch:"
            " cpu-torch_compile",
        ),
        (
            {"backend": ["cpu", "openvino", "wasm"]},
            {},
            [["cpu", "openvino"]],
            "1 job is measured alone, since each launch starts a browser: wasm",
        ),
        (
            {**BOTH, "mode": "startup"},
            {},
            [],
            "2 jobs are measured alone, since a cold start needs the machine for itself:"
            " cpu-b1-s128-startup, cpu-onnxruntime-b1-s128-startup",
        ),
        (
            {**BOTH, "scenario": "offline"},
            {},
            [],
            "2 jobs are measured alone, since an offline search chooses its batches itself:"
            " cpu, cpu-onnxruntime",
        ),
        (
            {**BOTH, "scenario": "server", "target_qps": 5},
            {},
            [],
            "2 jobs are measured alone, since requests to a server arrive at their own times:"
            " cpu, cpu-onnxruntime",
        ),
        (
            {"backend": ["cpu", "openvino"]},
            {"backends": {"openvino": {"measure": {"iterations": 9}}}},
            [],
            "2 jobs are measured alone, since no other job has the same measure and limits:"
            " cpu, openvino",
        ),
        (
            {"backend": ["cpu", "openvino"], "precision": ["fp32", "bf16"]},
            {"exclude": [{"backend": "openvino", "precision": "bf16"}],
             "backends": {"openvino": {"limits": {"cpus": 1}}}},
            [["cpu", "cpu-bf16"]],
            "1 job is measured alone, since no other job has the same measure and limits: openvino",
        ),
    ],
    ids=["torch_compile", "browser", "startup", "offline", "server", "measure", "limits"],
)  # fmt: skip
def test_what_is_measured_alone_is_said_with_the_reason(
    axes: dict[str, Any], rest: dict[str, Any], together: list[list[str]], why: str
) -> None:
    plan = grouped(axes, **rest)
    assert members(plan) == together
    assert notes(plan)[-1] == why
    assert len(plan.notes) == 1 + len(together)


def test_a_note_names_rounds_and_groups() -> None:
    assert notes(grouped(BOTH)) == [
        "2 jobs are measured side by side in 3 rounds: cpu, cpu-onnxruntime"
    ]
    both = grouped({**BOTH, "model": [MODEL, "gpt2"]}, profile="standard")
    assert notes(both) == [
        "4 jobs are measured side by side in 2 groups, 3 to 12 rounds each:"
        " cpu, cpu-onnxruntime, cpu-gpt2 and 1 more job"
    ]
    assert notes(grouped({"batch_size": [1, 2]})) == []


@pytest.mark.parametrize(
    ("jobs", "sizes"), [(2, [2]), (8, [8]), (9, [5, 4]), (16, [8, 8]), (17, [6, 6, 5])]
)
def test_no_group_has_more_than_eight_jobs_and_none_stays_alone(
    jobs: int, sizes: list[int]
) -> None:
    plan = grouped({"threads": [*range(1, jobs + 1)]})
    assert [len(group.jobs) for group in plan.groups] == sizes
    assert len(plan.group_of) == jobs


def test_what_does_not_fit_into_memory_together_takes_turns_by_launches() -> None:
    need = sum(memory_need_bytes(cell, find(MODEL)) for cell in cells_of(grouped(BOTH)))
    for memory_bytes, together in ((None, True), (round(3 * need), True), (round(need), False)):
        plan = grouped(BOTH, memory_bytes)
        assert [group.together for group in plan.groups] == [together]
        said = [note for note in notes(plan) if "memory" in note]
        assert (
            said == []
            if together
            else said
            == [
                "2 of them take turns launch by launch, since they do not fit into memory together:"
                " cpu, cpu-onnxruntime"
            ]
        )


def test_a_limit_of_each_job_bounds_what_all_need() -> None:
    need = sum(memory_need_bytes(cell, find(MODEL)) for cell in cells_of(grouped(BOTH)))
    bounded = grouped(BOTH, round(1.2 * need), limits={"memory": round(need / 2)})
    assert [group.together for group in bounded.groups] == [True]


def test_memory_of_a_device_is_not_the_hosts() -> None:
    plan = grouped({"backend": "cuda", "precision": ["fp32", "bf16"]}, memory_bytes=1)
    assert [group.together for group in plan.groups] == [True]


def cells_of(plan: Plan) -> list[Cell]:
    return [entry.cell for entry in plan.with_decision("run")]


@pytest.mark.parametrize(
    ("rounds", "most", "looks"),
    [
        (1, 1, (3,)),
        (3, 12, (3, 6, 12)),
        (10, 30, (10, 12, 24, 30)),
        (3, 3, (3,)),
        (6, 6, (6,)),
        (1, 4, (3, 4)),
        (5, 2, (5,)),
    ],
)
def test_a_comparison_ends_after_planned_numbers_of_rounds(
    rounds: int, most: int, looks: tuple[int, ...]
) -> None:
    measure = PROFILES["quick"].model_copy(update={"rounds": rounds, "max_rounds": most})
    assert looks_of(measure) == looks


@pytest.mark.parametrize(
    ("profile", "looks"),
    [("quick", (6, 12, 24)), ("standard", (6, 12, 24)), ("audit", (10, 12, 24))],
)
def test_a_launch_of_two_versions_keeps_its_share_of_time(
    profile: str, looks: tuple[int, ...]
) -> None:
    usual = next(measure for name, measure in PROFILES.items() if name == profile)
    group = group_of_versions([fake_cell()], 7, usual, together=True)
    assert (group.name, group.jobs, group.versions) == ("g7", (fake_cell().job_id,), 2)
    assert (group.looks, rounds_of([group])) == (looks, f"{looks[0]} to 24")
    assert (group.measure.rounds, group.measure.most_rounds) == (looks[0], 24)
    assert group.measure.min_s / looks[0] == pytest.approx(usual.min_s / usual.rounds)


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3), max_size=12))
def test_parts_have_every_item_and_share_no_key(items: list[list[int]]) -> None:
    parts = connected(enumerate(items), lambda item: item[1])
    assert sorted(item for part in parts for item in part) == [*enumerate(items)]
    keys = [{key for _, item in part for key in item} for part in parts]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_parts_are_no_larger_than_they_must_be() -> None:
    assert connected(["ab", "cd", "bc", "e", "f"], list) == [["ab", "cd", "bc"], ["e"], ["f"]]


def test_a_copy_of_a_plan_has_its_own_groups() -> None:
    plan = grouped({**BOTH, "precision": ["fp32", "bf16"]})
    first, *others = plan.groups[0].jobs
    assert first in plan.group_of
    (group,) = plan.groups
    parted = plan.model_copy(update={"groups": (group.model_copy(update={"jobs": (*others,)}),)})
    assert {*parted.group_of} == {*others}
    assert first in plan.group_of


def test_a_plan_with_groups_survives_json() -> None:
    plan = grouped({**BOTH, "precision": ["fp32", "bf16"]}, profile="standard")
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("iteration_s", "seconds"),
    [(0.001, 24 * 0.125), (0.1, 24 * 0.5), (1.0, 24 * 1.0), (4.0, 3 * 10), (9.0, 3 * 2 * 9)],
    ids=["many", "five", "one", "all the time", "two bursts however long"],
)
def test_bursts_have_their_time_whatever_an_iteration_takes(
    iteration_s: float, seconds: float
) -> None:
    measure = grouped(BOTH).groups[0].measure
    bare = timed_estimate(
        fake_cell(), iteration_s, measure.model_copy(update={"min_s": 0, "max_s": 1e-9})
    )
    in_bursts = timed_estimate(fake_cell(), iteration_s, measure, in_bursts=True)
    assert in_bursts - (bare - iteration_s) == pytest.approx(seconds)


def test_the_fewest_blocks_are_an_even_number() -> None:
    assert FEWEST_BLOCKS % 2 == 0


def test_estimates_and_launches_are_those_of_the_rounds() -> None:
    alone = grouped(BOTH, measure={"side_by_side": False})
    plan = grouped(BOTH)
    assert [entry.launch_s for entry in plan.entries] == [entry.launch_s for entry in alone.entries]
    assert all(
        entry.estimate_s
        == timed_estimate(entry.cell, entry.iteration_s, plan.groups[0].measure, in_bursts=True)
        for entry in plan.entries
    )
    assert [job.measure.rounds for job in planned_jobs(plan)] == [3, 3]
    for job, entry in zip(planned_jobs(plan), plan.entries, strict=True):
        assert job.estimate_s == pytest.approx(entry.estimate_s + 3 * entry.launch_s)
    assert PlanReport(plan, ()).sums().startswith("2 to run in 2 jobs (6 launches), ")


def test_two_versions_are_launched_and_estimated_twice() -> None:
    plan = grouped({"batch_size": [1, 2]})
    group = group_of_versions(cells_of(plan), 1, plan.measure["cpu"], together=True)
    both = with_groups(plan, [group])
    once = with_groups(plan, [group.model_copy(update={"versions": 1})])
    for twice, single in zip(both.entries, once.entries, strict=True):
        assert twice.estimate_s == pytest.approx(2 * single.estimate_s)
        assert twice.launch_s == pytest.approx(2 * single.launch_s)
    assert PlanReport(both, ()).sums().startswith("2 to run in 1 job (at least 12 launches), ")
    apart = with_groups(plan, [group.model_copy(update={"together": False})])
    assert apart.entries[0].estimate_s == pytest.approx(
        2 * timed_estimate(plan.entries[0].cell, plan.entries[0].iteration_s, group.measure)
    )
