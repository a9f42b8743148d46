"""`fleet status`: the hosts."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.fleet_options import with_hosts

if TYPE_CHECKING:
    from orchestrator.app.fleet.choice import FleetChoice

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
    from orchestrator.app.fleet.choice import FleetChoice
    from orchestrator.app.fleet.hosts import open_transports, own_journal
    from orchestrator.app.fleet.status import fleet_status
    from orchestrator.render.fleet.status import print_hosts

    choice, journal = fleet or FleetChoice(), own_journal()
    with open_transports(choice, exclusive=False) as transports:
        print_hosts(fleet_status(transports, choice, journal), wide=wide, as_json=json)
        while watch:
            time.sleep(_WATCH_S)
            statuses = fleet_status(transports, choice, journal)
            print_hosts(statuses, wide=wide, as_json=json, again=True)
