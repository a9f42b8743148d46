"""`fleet doctor`: what each host lacks."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.program.command import Command
from orchestrator.fleet.choice import FleetHosts
from orchestrator.system.options import Json


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
        from orchestrator.commands.fleet.diagnosis import diagnose_fleet
        from orchestrator.commands.fleet.diagnosis_table import print_diagnosis
        from runner.contract.errors import Unavailable

        backends = tuple(map(known_backend, self.backend or ())) or tuple(real_backends())
        diagnosis = diagnose_fleet(self, backends)
        print_diagnosis(diagnosis, as_json=self.json)
        return Unavailable.exit_code if diagnosis.silent else 0
