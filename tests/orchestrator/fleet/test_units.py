"""Cells on the hosts of a fleet: who can measure what, what stays together, the time it takes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.units import PlacedRun, expected_s, place, sub_plan
from orchestrator.planning.groups import looks_of
from orchestrator.planning.memory import memory_need_bytes
from orchestrator.planning.plan import Plan, make_plan, side_by_side
from orchestrator.running.run_file import RunFile
from runner.contract.cell import Cell
from runner.contract.models import find
from tests.support.jobs import fake_cell
from tests.support.matrices import matrix_of
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder
from tests.support.words import words_of

HARDWARE = {"cpu_model": "a CPU", "cpu_cores_logical": 8, "memory_total_bytes": 8 << 30}


def a_host(**changes: object) -> HostFacts:
    known = {
        "hostname": "vm",
        "hardware": HARDWARE,
        "launcher": "process",
        "version": "0",
        "python": "3.11",
    }
    return HostFacts.model_validate(known | changes)


def cells_of(placed: PlacedRun) -> list[list[int]]:
    return [[cell.batch_size for cell in unit.cells] for unit in placed.units]


def test_cells_of_one_model_and_mode_stay_together() -> None:
    generated = fake_cell(1).model_copy(update={"mode": "generation", "new_tokens": 4})
    plan = a_plan([fake_cell(1), fake_cell(2), generated])
    placed = place(plan, {"a": a_host(), "b": a_host()})
    assert cells_of(placed) == [[1, 2], [1]]
    assert [unit.unit.estimate_s for unit in placed.units] == [2, 1]
    assert all(unit.unit.classes == {a_host().ability} for unit in placed.units)


def test_a_cell_that_no_host_can_measure_is_skipped_with_the_reason() -> None:
    lacking = a_host(unavailable={"fake": "there is no such device"})
    placed = place(a_plan([fake_cell(1)], skips={fake_cell(2): "impossible"}), {"a": lacking})
    assert placed.units == ()
    entries = {entry.cell.batch_size: entry for entry in placed.plan.entries}
    assert (entries[1].decision, entries[1].status) == ("skip", "unavailable")
    assert (
        words_of(entries[1].reason)
        == "no host of the fleet can measure it: there is no such device"
    )
    assert words_of(entries[2].reason) == "impossible"


@pytest.mark.parametrize(
    ("changes", "same_class", "same_ability"),
    [
        ({}, True, True),
        ({"hostname": "another"}, True, True),
        ({"hardware": {**HARDWARE, "memory_total_bytes": (8 << 30) + 4096}}, True, True),
        ({"unavailable": {"cuda": "no driver"}}, True, False),
        ({"hardware": {**HARDWARE, "cpu_model": "another"}}, False, False),
        ({"accelerators": ("NVIDIA A100",)}, False, False),
    ],
)
def test_hardware_makes_a_class_and_not_a_name(
    changes: dict[str, object], same_class: bool, same_ability: bool
) -> None:
    one, other = a_host(), a_host(**changes)
    assert (one.class_id == other.class_id) is same_class
    assert (one.ability == other.ability) is same_ability


def test_cells_that_are_compared_go_to_the_host_that_can_measure_all_of_them() -> None:
    other = fake_cell(1).model_copy(update={"backend": "cpu", "runtime": "torch"})
    only_fake, only_cpu = a_host(unavailable={"cpu": "-"}), a_host(unavailable={"fake": "-"})
    plan = a_plan([fake_cell(1), other])
    (unit,) = place(plan, {"a": only_fake, "b": a_host(), "c": only_cpu}).units
    assert (unit.unit.classes, unit.unit.needs) == ({a_host().ability}, {"fake", "cpu"})
    parted = place(plan, {"a": only_fake, "c": only_cpu})
    assert [len(unit.cells) for unit in parted.units] == [1, 1]
    assert "those that are compared come from several hosts" in parted.plan.notes[-1]


def of_models(names: Sequence[str]) -> Plan:
    cells: list[Cell] = [fake_cell(1).model_copy(update={"model": name}) for name in names]
    return a_plan(cells)


@pytest.mark.parametrize(("hosts", "seconds"), [(1, 4), (2, 2), (3, 2), (4, 1), (9, 1)])
def test_the_expected_time_is_that_of_the_dispatcher(hosts: int, seconds: float) -> None:
    facts = {f"h{number}": a_host() for number in range(hosts)}
    placed = place(of_models(["m1", "m2", "m3", "m4"]), facts)
    classes = {name: host.ability for name, host in facts.items()}
    assert expected_s([one.unit for one in placed.units], classes, seed=1) == seconds


def on_paths(
    backends: Sequence[str] = ("cpu", "openvino"), *, together: bool | None = None, **axes: object
) -> Plan:
    """A plan of two precisions on each of these backends, without any groups."""
    known = {"model": "bert-tiny", "backend": [*backends], "precision": ["fp32", "bf16"], **axes}
    measure = {"profile": "quick", "side_by_side": "auto" if together is None else together}
    return make_plan(matrix_of(known, measure=measure))


def groups_of(placed: PlacedRun) -> list[list[str]]:
    return [[job.replace("-bert-tiny", "") for job in group.jobs] for group in placed.plan.groups]


def test_a_group_is_one_hosts() -> None:
    placed = place(on_paths(), {"a": a_host(), "b": a_host()}, grouped=True)
    (unit,) = placed.units
    (group,) = placed.plan.groups
    assert {*group.jobs} == {cell.job_id for cell in unit.cells}
    assert placed.plan.notes[-1].startswith("4 jobs are measured side by side in 3 rounds: ")
    alone = place(on_paths(), {"a": a_host(), "b": a_host()})
    assert alone.plan.groups == ()
    assert unit.unit.estimate_s > 2 * alone.units[0].unit.estimate_s


def test_hosts_with_half_of_the_paths_have_groups_of_their_own() -> None:
    hosts = {"a": a_host(unavailable={"openvino": "-"}), "b": a_host(unavailable={"cpu": "-"})}
    placed = place(on_paths(), hosts, grouped=True)
    assert groups_of(placed) == [
        ["cpu-fp32-inference", "cpu-bf16-inference"],
        ["openvino-fp32-inference", "openvino-bf16-inference"],
    ]
    assert len({group.name for group in placed.plan.groups}) == 2


@pytest.mark.parametrize(
    ("together", "units"), [(True, [["gpt2", "bert-tiny"]]), (None, [["gpt2"], ["bert-tiny"]])]
)
def test_models_that_are_compared_go_to_one_host(
    together: bool | None, units: list[list[str]]
) -> None:
    plan = on_paths(["cpu"], together=together, model=["gpt2", "bert-tiny"])
    placed = place(plan, {"a": a_host(), "b": a_host()}, grouped=True)
    assert [[*dict.fromkeys(cell.model for cell in unit.cells)] for unit in placed.units] == units
    assert placed.units[0].unit.id == "gpt2-inference"
    assert [len(group.jobs) for group in placed.plan.groups] == [4 // len(units)] * len(units)


def test_a_job_on_two_hosts_is_compared_with_none() -> None:
    """Nothing that several hosts measured is a ratio of one moment."""
    plan = on_paths(precision="fp32", batch_size=[1, 4096])
    large = next(entry.cell for entry in plan.entries if entry.cell.batch_size == 4096)
    need = memory_need_bytes(large, find("bert-tiny"))
    hosts = {
        "small": a_host(memory_bytes=round(need / 2)),
        "large": a_host(memory_bytes=round(2 * need), unavailable={"openvino": "-"}),
    }
    backwards = plan.model_copy(update={"entries": plan.entries[::-1]})
    placed = place(backwards, hosts, grouped=True)
    assert len(placed.units) == 2
    assert placed.plan.groups == ()


@pytest.mark.parametrize(("factor", "together"), [(4, True), (1, False)])
def test_the_smallest_host_decides_whether_jobs_are_loaded_together(
    factor: float, together: bool
) -> None:
    plan = on_paths()
    need = sum(memory_need_bytes(entry.cell, find("bert-tiny")) for entry in plan.entries)
    hosts = {
        "a": a_host(memory_bytes=round(factor * need)),
        "b": a_host(memory_bytes=round(9 * need), accelerators=("NVIDIA A100",)),
    }
    placed = place(plan, hosts, grouped=True)
    assert [group.together for group in placed.plan.groups] == [together]
    assert any("fit into memory" in note for note in placed.plan.notes) is not together


def test_what_a_host_is_ordered_is_the_same_job_there_and_here(tmp_path: Path) -> None:
    placed = place(on_paths(model=["bert-tiny", "gpt2"]), {"a": a_host()}, grouped=True)
    run = a_run_folder(tmp_path, placed.plan).run
    assert len(placed.units) == len(run.plan.groups) == 2
    for unit in placed.units:
        for left in (unit.cells, unit.cells[:1]):
            plan = sub_plan(run.plan, left)
            assert len(plan.groups) == 1
            there = RunFile.model_validate_json(
                run.model_copy(update={"plan": plan}).model_dump_json()
            )
            for cell in left:
                job = run.job([cell], SOMEWHERE, 2)
                assert there.job([cell], SOMEWHERE, 2) == job
                assert job.side_by_side is not None
                assert job.side_by_side.group.startswith(f"{run.run_id}.g")
                assert job.side_by_side.looks == looks_of(run.plan.measure["cpu"])


def test_the_groups_of_a_plan_stay_as_they_are_when_the_rest_is_placed() -> None:
    plan = on_paths()
    grouped = side_by_side(plan, [([entry.cell for entry in plan.entries], None)])
    rest = sub_plan(grouped, [entry.cell for entry in plan.entries][1:])
    assert place(rest, {"a": a_host()}).plan.groups == grouped.groups
