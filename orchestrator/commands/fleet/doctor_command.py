"""`fleet doctor`: what each host lacks."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_hosts
from orchestrator.commands.options import common as options

if TYPE_CHECKING:
    from orchestrator.fleet.choice import FleetChoice


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
    from orchestrator.commands.fleet.diagnosis import diagnose_fleet
    from orchestrator.commands.fleet.diagnosis_table import print_diagnosis
    from orchestrator.fleet.choice import FleetChoice
    from runner.contract.errors import Unavailable

    backends = tuple(map(known_backend, backend or ())) or tuple(real_backends())
    diagnosis = diagnose_fleet(fleet or FleetChoice(), backends)
    print_diagnosis(diagnosis, as_json=json)
    return Unavailable.exit_code if diagnosis.silent else 0
