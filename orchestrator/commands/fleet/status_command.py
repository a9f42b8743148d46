"""`fleet status`: the hosts."""

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.program.command import Command
from orchestrator.fleet.choice import FleetHosts
from orchestrator.system.options import Json, Wide

_WATCH_S = 5.0


@dataclass(frozen=True, kw_only=True)
class StatusOfFleet(FleetHosts, Command):
    """Show every host: class, devices, free or busy with what, images, versions, last beat.

    Free hosts are asked what they are; a busy one is not, for that would disturb what it measures:
    what it answered last is shown. Lost orders are those of your own runs.
    """

    watch: Annotated[
        bool, typer.Option("--watch", help="Show them again every 5 seconds, until Ctrl-C.")
    ] = False
    wide: Wide = False
    json: Json = False

    def execute(self) -> None:
        """Ask the hosts."""
        from orchestrator.commands.fleet.hosts import open_transports, own_journal
        from orchestrator.commands.fleet.status import fleet_status
        from orchestrator.commands.fleet.status_table import print_hosts

        journal = own_journal()
        with open_transports(self, exclusive=False) as transports:
            statuses = fleet_status(transports, self, journal)
            print_hosts(statuses, wide=self.wide, as_json=self.json)
            while self.watch:
                time.sleep(_WATCH_S)
                statuses = fleet_status(transports, self, journal)
                print_hosts(statuses, wide=self.wide, as_json=self.json, again=True)
