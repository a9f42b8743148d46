"""A plan on a fleet: the runs that it makes, and the time that they may take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True)
class PlacedRun:
    """One run on the hosts of a fleet."""

    host_class: str | None
    """The class of hosts that alone measures it; None for all of them."""
    hosts: Mapping[str, HostFacts]
    """Its hosts, by name."""
    plan: Plan
    """The plan; cells that no host can measure are skipped."""
    units: tuple[PlacedUnit, ...]


@dataclass(frozen=True)
class FleetPlan:
    """The runs of one matrix on a fleet."""

    runs: tuple[PlacedRun, ...]
    source: RunSource
    """The source of the plan."""
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
    """The hosts of each run."""
    if placement == "any":
        return {None: list(facts)}
    classes: dict[str | None, list[str]] = {}
    for name, host in facts.items():
        classes.setdefault(host.class_id, []).append(name)
    return classes


def _expected_s(run: PlacedRun) -> float:
    units: list[Unit] = [placed.unit for placed in run.units]
    return expected_s(units, {name: facts.ability for name, facts in run.hosts.items()}, seed=0)
