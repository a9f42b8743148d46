"""The commands, in the order in which help lists them."""

import typer

from orchestrator.cli.measure import bench, plan, prepare, replay, run, verify
from orchestrator.cli.results import export, imports, maintain, results, snapshots, status, validate
from orchestrator.cli.setup import doctor, explain, images, models


def register(app: typer.Typer) -> None:
    """Give the application its commands."""
    app.command(name="run")(run.run)
    app.command(name="bench")(bench.bench)
    app.command(name="verify")(verify.verify)
    app.command(name="replay")(replay.replay)
    app.command(name="plan")(plan.plan)
    app.command(name="prepare")(prepare.prepare)
    app.command(name="status")(status.status)
    app.command(name="query")(results.query_command)
    app.command(name="merge")(results.merge_command)
    app.command(name="export")(export.export)
    app.command(name="import")(imports.import_)
    app.command(name="validate")(validate.validate)
    app.command(name="maintain")(maintain.maintain)
    app.command(name="snapshot")(snapshots.snapshot)
    app.command(name="restore")(snapshots.restore)
    app.command(name="doctor")(doctor.doctor)
    app.command(name="explain")(explain.explain)
    app.add_typer(images.group, name="images")
    app.add_typer(models.group, name="models")
    app.command(name="schema")(plan.schema)
