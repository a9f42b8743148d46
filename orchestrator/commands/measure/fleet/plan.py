"""A plan on a fleet: the runs that it makes, what measures each cell, and the expected time."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.results.table import Field, wrapping
from orchestrator.backends.machine import Machine
from orchestrator.commands.fleet.hosts import open_fleet, reach
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.fleet.choice import FleetChoice
from orchestrator.fleet.dispatch import Unit
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.units import PlacedUnit, expected_s, place
from orchestrator.matrix import FleetPlacement
from orchestrator.planning.plan import Plan
from orchestrator.running.run_file import RunSource
from orchestrator.screen.lines import print_json, print_line, print_note
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import format_duration, plural


@dataclass(frozen=True)
class PlacedRun:
    """One run on the hosts of a fleet."""

    host_class: str | None
    """The class of hosts that alone measures it; None for all of them."""
    hosts: Mapping[str, HostFacts]
    plan: Plan
    units: tuple[PlacedUnit, ...]


@dataclass(frozen=True)
class FleetPlan:
    """The runs of one matrix on a fleet."""

    runs: tuple[PlacedRun, ...]
    source: RunSource
    expected_s: float
    """Seconds from the first order to the last verdict, if the estimates are right."""


def place_matrix(
    request: PlanRequest, facts: Mapping[str, HostFacts], placement: FleetPlacement
) -> FleetPlan:
    """Plan a matrix for these hosts, with estimates from what their classes have measured."""
    runs = []
    for host_class, names in _classes(facts, placement).items():
        hosts = {name: facts[name] for name in names}
        machines = [host_id for host in hosts.values() if (host_id := host.host_id)]
        plan, source = plan_run(request, Machine(), machines)
        runs.append(place_run(plan, hosts, host_class))
    return FleetPlan(tuple(runs), source, max(map(_expected_s, runs)))


def plan_for_fleet(
    request: PlanRequest, choice: FleetChoice, note: Callable[[str], None]
) -> FleetPlan:
    """The plan of a matrix on the hosts that answer; nothing is started."""
    choice = choice.within(request.read().fleet)
    with open_fleet(choice) as fleet:
        placement = choice.placement or "any"
        reached = reach(fleet, request.options, note, every=placement == "every")
    return place_matrix(request, reached.facts, placement)


def place_run(plan: Plan, hosts: Mapping[str, HostFacts], host_class: str | None) -> PlacedRun:
    placed = place(plan, hosts)
    return PlacedRun(host_class, hosts, placed.plan, placed.units)


def _classes(
    facts: Mapping[str, HostFacts], placement: FleetPlacement
) -> Mapping[str | None, list[str]]:
    if placement == "any":
        return {None: list(facts)}
    classes: dict[str | None, list[str]] = {}
    for name, host in facts.items():
        classes.setdefault(host.class_id, []).append(name)
    return classes


def _expected_s(run: PlacedRun) -> float:
    units: list[Unit] = [placed.unit for placed in run.units]
    return expected_s(units, {name: facts.ability for name, facts in run.hosts.items()}, seed=0)


def print_fleet_plan(plan: FleetPlan, *, as_json: bool) -> None:
    """Print what each class of hosts would measure, what none can, and the expected time."""
    if as_json:
        print_json(_data(plan))
        return
    print_lines(
        [*wrapping("hosts"), "class", Field("units", right=True), Field("cells", right=True)],
        [
            [f"{', '.join(names)}: {facts.description}", facts.class_id, units, cells]
            for run in plan.runs
            for facts, names, units, cells in _by_class(run)
        ],
    )
    for reason, count in _nowhere(plan).items():
        print_line(f"{count} {plural(count, 'cell')} runs nowhere: {reason}")
    cells = sum(len(unit.cells) for run in plan.runs for unit in run.units)
    print_line(
        f"{cells:,} {plural(cells, 'cell')} to run; about {format_duration(round(plan.expected_s))}"
        " from the first order to the last verdict"
    )


def _by_class(run: PlacedRun) -> Sequence[tuple[HostFacts, list[str], int, int]]:
    """Each class of hosts with their names, and the units and cells that they can measure."""
    names: dict[str, list[str]] = {}
    for name, facts in run.hosts.items():
        names.setdefault(facts.ability, []).append(name)
    rows = []
    for ability, members in names.items():
        units = [placed for placed in run.units if ability in placed.unit.classes]
        cells = sum(len(placed.cells) for placed in units)
        rows.append((run.hosts[members[0]], members, len(units), cells))
    return rows


def _nowhere(plan: FleetPlan) -> Mapping[str, int]:
    """The reasons of cells that no host can measure, with their number."""
    entries = [run.plan.with_decision("skip") for run in plan.runs]
    return Counter(
        reason_text(entry.reason) for skipped in entries for entry in skipped if entry.reason
    )


def _data(plan: FleetPlan) -> dict[str, Any]:
    return {
        "expected_s": plan.expected_s,
        "runs": [
            {
                "host_class": run.host_class,
                "hosts": {
                    name: {"class": facts.class_id, "description": facts.description}
                    for name, facts in run.hosts.items()
                },
                "units": [
                    {
                        "id": placed.unit.id,
                        "estimate_s": placed.unit.estimate_s,
                        "hosts": sorted(
                            name
                            for name, facts in run.hosts.items()
                            if facts.ability in placed.unit.classes
                        ),
                        "cells": [cell.id for cell in placed.cells],
                    }
                    for placed in run.units
                ],
                "skipped": {
                    entry.cell.id: entry.reason and reason_text(entry.reason)
                    for entry in run.plan.with_decision("skip")
                },
            }
            for run in plan.runs
        ],
    }


def show_fleet_plan(request: PlanRequest, fleet: FleetChoice, *, as_json: bool) -> None:
    """Ask the hosts what they are, and print what each class of them would measure."""
    print_fleet_plan(plan_for_fleet(request, fleet, print_note), as_json=as_json)
