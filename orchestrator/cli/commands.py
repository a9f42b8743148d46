"""Which commands there are."""

import typer

from orchestrator.cli import doctor, images, measure, models, plan, results


def register(app: typer.Typer) -> None:
    """Give the application its commands, in the order in which help lists them."""
    app.command(name="run")(measure.run)
    app.command(name="bench")(measure.bench)
    app.command(name="plan")(plan.plan)
    app.command(name="status")(results.status)
    app.command(name="query")(results.query)
    app.command(name="merge")(results.merge)
    app.command(name="doctor")(doctor.doctor)
    app.add_typer(images.app, name="images")
    app.add_typer(models.app, name="models")
    app.command(name="schema")(plan.schema)
