"""`fleet doctor`: what each host lacks."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.fleet_options import with_hosts

if TYPE_CHECKING:
    from orchestrator.app.fleet.choice import FleetChoice


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
    from orchestrator.app.fleet.choice import FleetChoice
    from orchestrator.app.fleet.diagnosis import diagnose_fleet
    from orchestrator.app.setup.images import known_backend
    from orchestrator.backends.catalogue import real_backends
    from orchestrator.render.fleet.diagnosis import print_diagnosis
    from runner.contract.errors import Unavailable

    backends = tuple(map(known_backend, backend or ())) or tuple(real_backends())
    diagnosis = diagnose_fleet(fleet or FleetChoice(), backends)
    print_diagnosis(diagnosis, as_json=json)
    return Unavailable.exit_code if diagnosis.silent else 0
