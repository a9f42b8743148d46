"""`fleet status`: the hosts."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options

_WATCH_S = 5.0


def status_of_fleet(
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The head's address and port.  [default: the fleet made or joined here]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="The cluster's token.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show them again every 5 seconds, until Ctrl-C.")
    ] = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> None:
    """Show every host: class, devices, free or busy with what, images, versions, last beat.

    Free hosts are asked what they are; a busy one is not, for that would disturb what it measures.
    """
    from orchestrator.app.fleet.status import fleet_status, ray_fleet
    from orchestrator.fleet.membership import StateFolder
    from orchestrator.render.fleet.status import print_hosts

    with ray_fleet(StateFolder.of_user(os.environ), address, token_file) as transport:
        print_hosts(fleet_status(transport), wide=wide, as_json=json)
        while watch:
            time.sleep(_WATCH_S)
            print_hosts(fleet_status(transport), wide=wide, as_json=json, again=True)
