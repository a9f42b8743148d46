"""`doctor`: the backends that this machine can run."""

from typing import Annotated

import typer

from orchestrator.cli import options


def doctor(
    all_: Annotated[
        bool, typer.Option("--all", help="A row for each backend by each launcher.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show which backends can run here, and what is missing.

    First what runs here, then what could and how. With --all, for each backend by each launcher:
    whether it runs, why not, and what to do.
    """
    from orchestrator.app.setup.doctor import diagnose
    from orchestrator.render.setup import print_diagnoses

    print_diagnoses(diagnose(), everything=all_, as_json=json)
