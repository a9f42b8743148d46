"""The plan of a matrix on a fleet: hosts by class, the units of each, and what runs nowhere."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.results.table import Field, wrapping
from orchestrator.commands.measure.fleet.plan import FleetPlan, PlacedRun, plan_for_fleet
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.fleet.choice import FleetChoice
from orchestrator.fleet.host import HostFacts
from orchestrator.screen.lines import print_json, print_line, print_note
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import format_duration, plural


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
