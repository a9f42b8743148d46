"""`doctor`: the backends that this machine can run."""

from orchestrator.cli import options


def doctor(json: options.Json = False) -> None:
    """Show which backends can run here, and what is missing.

    For each backend by each launcher: whether it runs, why not, and what to do.
    """
    from orchestrator.app.setup.doctor import diagnose
    from orchestrator.render.setup import print_diagnoses

    print_diagnoses(diagnose(), as_json=json)
