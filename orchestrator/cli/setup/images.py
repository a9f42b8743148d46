"""`images`: the images that jobs execute in."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen
from orchestrator.cli.completion import complete_backend
from orchestrator.cli.options import note
from orchestrator.cli.program import ListingGroup, Program

group = Program(help="List, build, pull, push and remove images.", cls=ListingGroup)

BackendName = Annotated[
    str,
    typer.Argument(
        metavar="BACKEND",
        help="The backend, e.g. cpu.",
        autocompletion=complete_backend,
    ),
]
Registry = Annotated[
    str | None,
    typer.Option(
        metavar="PREFIX", help="Registry and path of images.  [default: $ACCELMATRIX_REGISTRY]"
    ),
]


@group.command(name="list")
def list_images(
    registry: Registry = None, wide: options.Wide = False, json: options.Json = False
) -> None:
    """List this version's images: those at hand, and the fresh ones.

    A fresh image is made of the checkout's present files.
    """
    from orchestrator.app.setup.images import open_images
    from orchestrator.render.setup.doctor import print_images

    print_images(open_images(registry, note).list(), wide=wide, as_json=json)


@group.command()
def build(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Build an image from this checkout."""
    from orchestrator.app.setup.images import known_backend, open_images
    from orchestrator.render.measure.progress import show_build
    from orchestrator.render.setup.doctor import print_image

    with show_build(quiet=chosen.quiet) as report:
        image = open_images(registry, report).build(known_backend(backend))
    print_image("built", image)


@group.command()
def pull(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Fetch an image from the registry."""
    from orchestrator.app.setup.images import known_backend, open_images
    from orchestrator.render.setup.doctor import print_image

    print_image("pulled", open_images(registry, note).pull(known_backend(backend)))


@group.command()
def push(backend: BackendName = "cpu", registry: Registry = None) -> None:
    """Publish an image to the registry."""
    from orchestrator.app.setup.images import known_backend, open_images
    from orchestrator.render.setup.doctor import print_image

    print_image("pushed", open_images(registry, note).push(known_backend(backend)))


@group.command()
def prune(
    all_: Annotated[bool, typer.Option("--all", help="This version's images too.")] = False,
    registry: Registry = None,
) -> None:
    """Remove old images of AccelMatrix, and no others."""
    from orchestrator.app.setup.images import remove_images
    from orchestrator.render.setup.doctor import print_pruned

    print_pruned(remove_images(registry, everything=all_))
