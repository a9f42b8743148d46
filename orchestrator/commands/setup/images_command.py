"""`images`: the images that jobs execute in."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options.common import note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_backend
from orchestrator.commands.program.program import ListingGroup, Program, chosen
from orchestrator.images.local_images import LocalImages, PrunedImages
from orchestrator.images.settings import ImageSettings
from orchestrator.system.engine import connect_engine
from orchestrator.system.git import own_commit
from orchestrator.system.options import Json, Wide


def open_images(registry: str | None, report: Callable[[str], None]) -> LocalImages:
    """The engine's images under that registry, or under the environment's if it is None.

    Lines about the work under way go to `report`.
    """
    return LocalImages(connect_engine(), image_settings(registry), report)


def remove_images(registry: str | None, *, everything: bool) -> PrunedImages:
    """Remove images of other versions, or `everything` of ours."""
    return LocalImages(connect_engine(), image_settings(registry)).prune(everything=everything)


def image_settings(registry: str | None) -> ImageSettings:
    """The settings of images under that registry, or under the environment's if it is None."""
    settings = ImageSettings.from_environment(revision=own_commit())
    return settings if registry is None else replace(settings, registry=registry)


group = Program(help="List, build, pull, push, verify, save and remove images.", cls=ListingGroup)

BackendName = Annotated[
    str,
    typer.Argument(
        metavar="BACKEND", help="The backend, e.g. cpu.", autocompletion=complete_backend
    ),
]
_Registry = Annotated[
    str | None,
    typer.Option(
        metavar="PREFIX", help="Registry and path of images.  [default: $ACCELMATRIX_REGISTRY]"
    ),
]


@dataclass(frozen=True, kw_only=True)
class _OneImage(Command):
    """A command about the image of one backend."""

    backend: BackendName = "cpu"
    registry: _Registry = None


@group.command(name="list")
@dataclass(frozen=True, kw_only=True)
class ListImagesCommand(Command):
    """List this version's images: those at hand and the fresh ones, or a registry's.

    A fresh image is made of the files that this AccelMatrix has.
    """

    registry: _Registry = None
    remote: Annotated[
        bool, typer.Option("--remote", help="Those that the registry has, with platforms.")
    ] = False
    wide: Wide = False
    json: Json = False

    def execute(self) -> None:
        """Print the images."""
        if self.remote:
            from orchestrator.commands.setup.images_words import print_remote_images
            from orchestrator.commands.setup.published_images import remote_images

            images = remote_images(image_settings(self.registry))
            print_remote_images(images, wide=self.wide, as_json=self.json)
            return
        from orchestrator.commands.setup.images_words import print_images

        images_here = open_images(self.registry, note).list()
        print_images(images_here, wide=self.wide, as_json=self.json)


@group.command(name="build")
@dataclass(frozen=True, kw_only=True)
class BuildImage(_OneImage):
    """Build an image from this checkout."""

    def execute(self) -> None:
        from orchestrator.backends.catalogue import known_backend
        from orchestrator.commands.program.progress import show_build
        from orchestrator.commands.setup.images_words import print_image

        with show_build(quiet=chosen.quiet) as report:
            image = open_images(self.registry, report).build(known_backend(self.backend))
        print_image("built", image)


@group.command(name="pull")
@dataclass(frozen=True, kw_only=True)
class PullImage(_OneImage):
    """Fetch an image from the registry."""

    def execute(self) -> None:
        """Fetch it."""
        from orchestrator.backends.catalogue import known_backend
        from orchestrator.commands.setup.images_words import print_image

        images = open_images(self.registry, note)
        print_image("pulled", images.pull(known_backend(self.backend)))


@group.command(name="push")
@dataclass(frozen=True, kw_only=True)
class PushImage(_OneImage):
    """Publish an image to the registry."""

    def execute(self) -> None:
        """Publish it."""
        from orchestrator.backends.catalogue import known_backend
        from orchestrator.commands.setup.images_words import print_image

        images = open_images(self.registry, note)
        print_image("pushed", images.push(known_backend(self.backend)))


@group.command(name="verify")
@dataclass(frozen=True, kw_only=True)
class VerifyImages(Command):
    """Check the signatures and the provenance of published images by cosign."""

    backends: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BACKEND...",
            help="The backends whose images to check.  [default: all that are published]",
            show_default=False,
            autocompletion=complete_backend,
        ),
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The signer's public key.  [default: the release's workflow]"
        ),
    ] = None
    registry: _Registry = None
    json: Json = False

    def execute(self) -> int:
        """Check them; the exit code says whether all are valid."""
        from orchestrator.backends.catalogue import known_backend
        from orchestrator.commands.setup.images_words import print_verified_images
        from orchestrator.commands.setup.published_images import verified_images
        from orchestrator.images.settings import image_name
        from runner.contract.errors import ImageError

        names = dict.fromkeys(image_name(known_backend(name)) for name in self.backends or ())
        images = verified_images(image_settings(self.registry), tuple(names), self.key)
        print_verified_images(images, as_json=self.json)
        return 0 if all(image.valid for image in images) else ImageError.exit_code


@group.command(name="save")
@dataclass(frozen=True, kw_only=True)
class SaveImage(_OneImage):
    """Write an image into a file, for machines without a registry."""

    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there.  [default: accelmatrix-NAME.tar]"),
    ] = None

    def execute(self) -> None:
        """Write the file."""
        from orchestrator.backends.catalogue import known_backend
        from orchestrator.commands.setup.images_words import print_saved_image
        from orchestrator.images.settings import image_name

        known = known_backend(self.backend)
        path = self.output or Path(f"accelmatrix-{image_name(known)}.tar")
        print_saved_image(open_images(self.registry, note).save(known, path), path)


@group.command(name="load")
@dataclass(frozen=True, kw_only=True)
class LoadImage(Command):
    """Take an image from a file that `images save` wrote."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `images save`.")]
    registry: _Registry = None

    def execute(self) -> None:
        """Take it."""
        from orchestrator.commands.setup.images_words import print_image

        for image in open_images(self.registry, note).load(self.file):
            print_image("loaded", image)


@group.command(name="prune")
@dataclass(frozen=True, kw_only=True)
class PruneImages(Command):
    """Remove old images of AccelMatrix, and no others."""

    all_: Annotated[bool, typer.Option("--all", help="This version's images too.")] = False
    registry: _Registry = None

    def execute(self) -> None:
        """Remove them."""
        from orchestrator.commands.setup.images_words import print_pruned

        print_pruned(remove_images(self.registry, everything=self.all_))
