"""`images`: the images that jobs execute in."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen

if TYPE_CHECKING:
    from orchestrator.images import ImageSettings, LocalImages
    from runner.contract.cell import Backend


app = typer.Typer(
    help="List, build, pull, push and remove images.", no_args_is_help=True, rich_markup_mode=None
)

BackendName = Annotated[str, typer.Argument(metavar="BACKEND", help="The backend, e.g. cpu.")]
Registry = Annotated[
    str | None,
    typer.Option(
        metavar="PREFIX", help="Registry and path of images.  [default: $ACCELMATRIX_REGISTRY]"
    ),
]


@app.command(name="list")
def list_images(registry: Registry = None, json: options.Json = False) -> None:
    """List the images of this version: which are here, and made of the present files."""
    import json as json_text
    from dataclasses import asdict

    from orchestrator.render.lines import print_line
    from orchestrator.render.tables import print_table
    from orchestrator.system.text import format_size

    statuses = _local_images(registry).list()
    if json:
        data = [asdict(status) for status in statuses]
        print_line(json_text.dumps(data, indent=2, default=str))
        return
    rows = [
        (
            status.reference,
            ", ".join(status.backends),
            "yes" if status.image else "no",
            ("yes" if status.fresh else "no") if status.image else None,
            format_size(status.image.size_bytes) if status.image else None,
            status.image.digest if status.image else None,
            status.support_class,
        )
        for status in statuses
    ]
    print_table(("image", "backends", "here", "fresh", "size", "digest", "class"), rows)


@app.command()
def build(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Build an image from this checkout."""
    image = _local_images(registry).build(_backend(backend))
    typer.echo(f"built {image.reference} {image.digest}")


@app.command()
def pull(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Fetch an image from the registry."""
    image = _local_images(registry).pull(_backend(backend))
    typer.echo(f"pulled {image.reference} {image.digest}")


@app.command()
def push(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Publish an image to the registry."""
    image = _local_images(registry).push(_backend(backend))
    typer.echo(f"pushed {image.reference} {image.digest}")


@app.command()
def prune(
    all_: Annotated[bool, typer.Option("--all", help="This version's images too.")] = False,
    registry: Registry = None,
) -> None:
    """Remove old images of AccelMatrix, and nothing that is not ours."""
    from orchestrator.images import prune_images
    from orchestrator.system.engine import connect_engine

    pruned = prune_images(connect_engine(), _settings(registry), everything=all_)
    for reference in pruned.removed:
        typer.echo(f"removed {reference}")
    for reference in pruned.in_use:
        typer.echo(f"kept {reference}: a container uses it")
    if not (pruned.removed or pruned.in_use):
        typer.echo("there is nothing to remove")


def _local_images(registry: str | None) -> "LocalImages":
    from orchestrator.images import LocalImages
    from orchestrator.system.engine import connect_engine

    def report(line: str) -> None:
        if not chosen.quiet:
            typer.echo(line, err=True)

    return LocalImages(connect_engine(), _settings(registry), report)


def _settings(registry: str | None) -> "ImageSettings":
    from dataclasses import replace

    from orchestrator.images import ImageSettings
    from orchestrator.system.git import git_commit

    settings = ImageSettings.from_environment(revision=git_commit())
    return settings if registry is None else replace(settings, registry=registry)


def _backend(name: str) -> "Backend":
    from orchestrator.backends.catalogue import real_backends
    from runner.contract.errors import UsageError

    for backend in real_backends():
        if backend == name:
            return backend
    raise UsageError(f"{name!r} is not one of {', '.join(real_backends())}")
