"""Cells on the hosts of a fleet: who can measure what, what stays together, the time it takes."""

from collections.abc import Sequence

import pytest

from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.units import PlacedRun, expected_s, place
from orchestrator.planning.plan import Plan
from runner.contract.cell import Cell
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan
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
