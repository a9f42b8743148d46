"""`fleet status`: the hosts."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_hosts
from orchestrator.commands.options import common as options

if TYPE_CHECKING:
    from orchestrator.fleet.choice import FleetChoice

_WATCH_S = 5.0


@with_hosts
def status_of_fleet(
    fleet: "FleetChoice | None",
    watch: Annotated[
        bool, typer.Option("--watch", help="Show them again every 5 seconds, until Ctrl-C.")
    ] = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> None:
    """Show every host: class, devices, free or busy with what, images, versions, last beat.

    Free hosts are asked what they are; a busy one is not, for that would disturb what it measures:
    what it answered last is shown. Lost orders are those of your own runs.
    """
    from orchestrator.commands.fleet.hosts import open_transports, own_journal
    from orchestrator.commands.fleet.status import fleet_status
    from orchestrator.commands.fleet.status_table import print_hosts
    from orchestrator.fleet.choice import FleetChoice

    choice, journal = fleet or FleetChoice(), own_journal()
    with open_transports(choice, exclusive=False) as transports:
        print_hosts(fleet_status(transports, choice, journal), wide=wide, as_json=json)
        while watch:
            time.sleep(_WATCH_S)
            statuses = fleet_status(transports, choice, journal)
            print_hosts(statuses, wide=wide, as_json=json, again=True)
