"""`images`: the images that jobs execute in."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import note
from orchestrator.commands.program.completion import complete_backend
from orchestrator.commands.program.program import ListingGroup, Program, chosen

group = Program(help="List, build, pull, push, verify, save and remove images.", cls=ListingGroup)

BackendName = Annotated[
    str,
    typer.Argument(
        metavar="BACKEND",
        help="The backend, e.g. cpu.",
        autocompletion=complete_backend,
    ),
]
_Registry = Annotated[
    str | None,
    typer.Option(
        metavar="PREFIX", help="Registry and path of images.  [default: $ACCELMATRIX_REGISTRY]"
    ),
]


@group.command(name="list")
def list_images(
    registry: _Registry = None,
    remote: Annotated[
        bool, typer.Option("--remote", help="Those that the registry has, with platforms.")
    ] = False,
    wide: options.Wide = False,
    json: options.Json = False,
) -> None:
    """List this version's images: those at hand and the fresh ones, or a registry's.

    A fresh image is made of the files that this AccelMatrix has.
    """
    if remote:
        from orchestrator.commands.setup.images import image_settings
        from orchestrator.commands.setup.images_words import print_remote_images
        from orchestrator.commands.setup.published_images import remote_images

        print_remote_images(remote_images(image_settings(registry)), wide=wide, as_json=json)
        return
    from orchestrator.commands.setup.images import open_images
    from orchestrator.commands.setup.images_words import print_images

    print_images(open_images(registry, note).list(), wide=wide, as_json=json)


@group.command()
def build(backend: BackendName = "cpu", registry: _Registry = None) -> None:
    """Build an image from this checkout."""
    from orchestrator.commands.measure.progress import show_build
    from orchestrator.commands.setup.images import known_backend, open_images
    from orchestrator.commands.setup.images_words import print_image

    with show_build(quiet=chosen.quiet) as report:
        image = open_images(registry, report).build(known_backend(backend))
    print_image("built", image)


@group.command()
def pull(backend: BackendName = "cpu", registry: _Registry = None) -> None:
    """Fetch an image from the registry."""
    from orchestrator.commands.setup.images import known_backend, open_images
    from orchestrator.commands.setup.images_words import print_image

    print_image("pulled", open_images(registry, note).pull(known_backend(backend)))


@group.command()
def push(backend: BackendName = "cpu", registry: _Registry = None) -> None:
    """Publish an image to the registry."""
    from orchestrator.commands.setup.images import known_backend, open_images
    from orchestrator.commands.setup.images_words import print_image

    print_image("pushed", open_images(registry, note).push(known_backend(backend)))


@group.command(name="verify")
def verify_images(
    backends: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BACKEND...",
            help="The backends whose images to check.  [default: all that are published]",
            show_default=False,
            autocompletion=complete_backend,
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The signer's public key.  [default: the release's workflow]"
        ),
    ] = None,
    registry: _Registry = None,
    json: options.Json = False,
) -> int:
    """Check the signatures and the provenance of published images by cosign."""
    from orchestrator.commands.setup.images import image_settings, known_backend
    from orchestrator.commands.setup.images_words import print_verified_images
    from orchestrator.commands.setup.published_images import verified_images
    from orchestrator.images.settings import image_name
    from runner.contract.errors import ImageError

    names = dict.fromkeys(image_name(known_backend(name)) for name in backends or ())
    images = verified_images(image_settings(registry), tuple(names), key)
    print_verified_images(images, as_json=json)
    return 0 if all(image.valid for image in images) else ImageError.exit_code


@group.command()
def save(
    backend: BackendName = "cpu",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there.  [default: accelmatrix-NAME.tar]"),
    ] = None,
    registry: _Registry = None,
) -> None:
    """Write an image into a file, for machines without a registry."""
    from orchestrator.commands.setup.images import known_backend, open_images
    from orchestrator.commands.setup.images_words import print_saved_image
    from orchestrator.images.settings import image_name

    known = known_backend(backend)
    path = output or Path(f"accelmatrix-{image_name(known)}.tar")
    print_saved_image(open_images(registry, note).save(known, path), path)


@group.command()
def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `images save`.")],
    registry: _Registry = None,
) -> None:
    """Take an image from a file that `images save` wrote."""
    from orchestrator.commands.setup.images import open_images
    from orchestrator.commands.setup.images_words import print_image

    for image in open_images(registry, note).load(file):
        print_image("loaded", image)


@group.command()
def prune(
    all_: Annotated[bool, typer.Option("--all", help="This version's images too.")] = False,
    registry: _Registry = None,
) -> None:
    """Remove old images of AccelMatrix, and no others."""
    from orchestrator.commands.setup.images import remove_images
    from orchestrator.commands.setup.images_words import print_pruned

    print_pruned(remove_images(registry, everything=all_))
