"""The plan of a matrix on a fleet, as `plan --fleet` and `run --fleet --dry-run` show it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.fleet.choice import FleetChoice


def show_fleet_plan(request: "PlanRequest", fleet: "FleetChoice", *, as_json: bool) -> None:
    """Ask the hosts what they are, and print what each class of them would measure."""
    from orchestrator.commands.measure.fleet_plan import plan_for_fleet
    from orchestrator.commands.measure.fleet_plan_table import print_fleet_plan
    from orchestrator.screen.lines import print_note

    print_fleet_plan(plan_for_fleet(request, fleet, print_note), as_json=as_json)
