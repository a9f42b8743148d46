"""`fleet`: one matrix over many machines: its hosts, what they lack, the program on a host."""

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_hosts
from orchestrator.commands.options import common as options
from orchestrator.commands.program.program import CommandGroup, Program

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice

_WATCH_S = 5.0


def execute() -> int:
    """Execute a driver's orders, from stdin; ssh, Slurm and Ray start this on a host."""
    # Unbuffered: Python aborts at its end while a thread waits with the lock of a buffer.
    from orchestrator.commands.fleet.host_program import serve_driver

    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0) as stream,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out,
    ):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, prints there
        return serve_driver(stream, out)


@with_hosts
def doctor_of_fleet(
    fleet: "FleetChoice | None",
    backend: Annotated[
        list[str] | None,
        typer.Option("--backend", metavar="NAME", help="Only these backends. Repeatable."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Show what each host can measure, what it lacks, and the command that mends it."""
    from orchestrator.backends.catalogue import known_backend, real_backends
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.fleet.status import diagnose_fleet
    from orchestrator.commands.fleet.status_table import print_diagnosis
    from runner.contract.errors import Unavailable

    backends = tuple(map(known_backend, backend or ())) or tuple(real_backends())
    diagnosis = diagnose_fleet(fleet or FleetChoice(), backends)
    print_diagnosis(diagnosis, as_json=json)
    return Unavailable.exit_code if diagnosis.silent else 0


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
    from orchestrator.commands.fleet.hosts import FleetChoice, open_transports, own_journal
    from orchestrator.commands.fleet.status import fleet_status
    from orchestrator.commands.fleet.status_table import print_hosts

    choice, journal = fleet or FleetChoice(), own_journal()
    with open_transports(choice, exclusive=False) as transports:
        print_hosts(fleet_status(transports, choice, journal), wide=wide, as_json=json)
        while watch:
            time.sleep(_WATCH_S)
            statuses = fleet_status(transports, choice, journal)
            print_hosts(statuses, wide=wide, as_json=json, again=True)


class FleetGroup(CommandGroup):
    """A group that shows the hosts if no command is named."""

    alone = "status"


group = Program(
    help="Measure on many machines: the hosts of a fleet, and what they lack.", cls=FleetGroup
)
group.command(name="status")(status_of_fleet)
group.command(name="doctor")(doctor_of_fleet)
group.command(name="execute")(execute)
