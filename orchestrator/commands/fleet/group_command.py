"""`fleet`: one matrix over many machines: its hosts, what they lack, the program on a host."""

import os
import sys
import time
from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program
from orchestrator.fleet.choice import FleetHosts
from orchestrator.system.options import Json, Wide

_WATCH_S = 5.0


@dataclass(frozen=True, kw_only=True)
class ExecuteCommand(Command):
    """Execute a driver's orders, from stdin; ssh, Slurm and Ray start this on a host."""

    def execute(self) -> int:
        """Serve the driver."""
        # Unbuffered: Python aborts at its end while a thread waits with the lock of a buffer.
        from orchestrator.commands.fleet.host_program import serve_driver

        with (
            os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0) as stream,
            os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out,
        ):
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, prints there
            return serve_driver(stream, out)


@dataclass(frozen=True, kw_only=True)
class DoctorOfFleet(FleetHosts, Command):
    """Show what each host can measure, what it lacks, and the command that mends it."""

    backend: Annotated[
        list[str] | None,
        typer.Option("--backend", metavar="NAME", help="Only these backends. Repeatable."),
    ] = None
    json: Json = False

    def execute(self) -> int:
        """Ask the hosts."""
        from orchestrator.backends.catalogue import known_backend, real_backends
        from orchestrator.commands.fleet.status import diagnose_fleet
        from orchestrator.commands.fleet.status_table import print_diagnosis
        from runner.contract.errors import Unavailable

        backends = tuple(map(known_backend, self.backend or ())) or tuple(real_backends())
        diagnosis = diagnose_fleet(self, backends)
        print_diagnosis(diagnosis, as_json=self.json)
        return Unavailable.exit_code if diagnosis.silent else 0


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


class FleetGroup(CommandGroup):
    """A group that shows the hosts if no command is named."""

    alone = "status"


group = Program(help="Show the hosts of a fleet, and what they lack.", cls=FleetGroup)
group.command(name="status")(StatusOfFleet)
group.command(name="doctor")(DoctorOfFleet)
group.command(name="execute")(ExecuteCommand)
