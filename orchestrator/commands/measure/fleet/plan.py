"""A plan on a fleet: the runs that it makes, what measures each cell, and the expected time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.results.table import Field, wrapping
from orchestrator.backends.machine import Machine
from orchestrator.commands.fleet.hosts import open_fleet, reach
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.fleet.choice import FleetChoice
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.units import PlacedRun, expected_s, place
from orchestrator.matrix import FleetPlacement
from orchestrator.planning.plan import RunSource
from orchestrator.screen.lines import print_json, print_line, print_note
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import format_duration, plural


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
    classes: dict[str | None, dict[str, HostFacts]] = {}
    for name, host in facts.items():
        host_class = host.class_id if placement == "every" else None
        classes.setdefault(host_class, {})[name] = host
    runs, times_s = [], []
    for host_class, hosts in classes.items():
        machines = [host_id for host in hosts.values() if (host_id := host.host_id)]
        plan, source = plan_run(request, Machine(), machines, grouped=False)
        run = place(plan, hosts, host_class, grouped=request.is_timed)
        abilities = {name: host.ability for name, host in hosts.items()}
        times_s.append(expected_s([placed.unit for placed in run.units], abilities, seed=0))
        runs.append(run)
    return FleetPlan(tuple(runs), source, max(times_s))


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
    skipped = (entry for run in plan.runs for entry in run.plan.with_decision("skip"))
    reasons = Counter(reason_text(entry.reason) for entry in skipped if entry.reason)
    for reason, count in reasons.items():
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
    choice = fleet.within(request.parsed.fleet)
    placement = choice.placement or "any"
    with open_fleet(choice) as ways:
        reached = reach(ways, request.options, print_note, every=placement == "every")
    print_fleet_plan(place_matrix(request, reached.facts, placement), as_json=as_json)
