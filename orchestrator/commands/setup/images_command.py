"""`images`: the images that jobs execute in."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.backends.catalogue import backend_in_image
from orchestrator.commands.options.common import note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_backend
from orchestrator.commands.program.program import ListingGroup, Program, chosen
from orchestrator.commands.setup.images import (
    print_images,
    print_remote_images,
    print_verified_images,
    remote_images,
    verified_images,
)
from orchestrator.images.image import Image
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings, image_name
from orchestrator.screen.lines import print_line
from orchestrator.system.engine import connect_engine
from orchestrator.system.git import own_commit
from orchestrator.system.options import Json, Wide
from runner.contract.axes import Backend
from runner.contract.errors import ImageError

group = Program(help="List, build, pull, push, verify, save and remove images.", cls=ListingGroup)

_BackendName = Annotated[
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
class _OfRegistry:
    """Images under a registry. A subclass that declares the option anew chooses its place."""

    registry: _Registry = None

    @property
    def settings(self) -> ImageSettings:
        settings = ImageSettings.from_environment(revision=own_commit())
        return settings if self.registry is None else replace(settings, registry=self.registry)

    def images(self, report: Callable[[str], None] = note) -> LocalImages:
        """The engine's images; lines about the work under way go to `report`."""
        return LocalImages(connect_engine(), self.settings, report)


@dataclass(frozen=True, kw_only=True)
class _OneImage(_OfRegistry, Command):
    """A command about the image of one backend."""

    backend: _BackendName = "cpu"

    @property
    def known(self) -> Backend:
        return backend_in_image(self.backend)


def _print_image(action: str, image: Image) -> None:
    print_line(f"{action} {image.reference} {image.digest} ({image.trust})")


@group.command(name="list")
@dataclass(frozen=True, kw_only=True)
class ListImagesCommand(_OfRegistry, Command):
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
        if self.remote:
            print_remote_images(remote_images(self.settings), wide=self.wide, as_json=self.json)
        else:
            print_images(self.images().list(), wide=self.wide, as_json=self.json)


@group.command(name="build")
@dataclass(frozen=True, kw_only=True)
class BuildImage(_OneImage):
    """Build an image from this checkout."""

    def execute(self) -> None:
        from orchestrator.commands.program.progress import show_build

        with show_build(quiet=chosen.quiet) as report:
            image = self.images(report).build(self.known)
        _print_image("built", image)


@group.command(name="pull")
@dataclass(frozen=True, kw_only=True)
class PullImage(_OneImage):
    """Fetch an image from the registry."""

    def execute(self) -> None:
        _print_image("pulled", self.images().pull(self.known))


@group.command(name="push")
@dataclass(frozen=True, kw_only=True)
class PushImage(_OneImage):
    """Publish an image to the registry."""

    def execute(self) -> None:
        _print_image("pushed", self.images().push(self.known))


@group.command(name="verify")
@dataclass(frozen=True, kw_only=True)
class VerifyImages(_OfRegistry, Command):
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
        names = dict.fromkeys(image_name(backend_in_image(name)) for name in self.backends or ())
        images = verified_images(self.settings, tuple(names), self.key)
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
        known = self.known
        path = self.output or Path(f"accelmatrix-{image_name(known)}.tar")
        image = self.images().save(known, path)
        print_line(f"saved {image.reference} in {path}")
        print_line(f"`orchestrator images load {path.name}` takes it on another machine")


@group.command(name="load")
@dataclass(frozen=True, kw_only=True)
class LoadImage(_OfRegistry, Command):
    """Take an image from a file that `images save` wrote."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `images save`.")]

    def execute(self) -> None:
        for image in self.images().load(self.file):
            _print_image("loaded", image)


@group.command(name="prune")
@dataclass(frozen=True, kw_only=True)
class PruneImages(_OfRegistry, Command):
    """Remove old images of AccelMatrix, and no others."""

    all_: Annotated[bool, typer.Option("--all", help="This version's images too.")] = False

    def execute(self) -> None:
        """Remove them, and name those that a container uses."""
        pruned = LocalImages(connect_engine(), self.settings).prune(everything=self.all_)
        for reference in pruned.removed:
            print_line(f"removed {reference}")
        for reference in pruned.in_use:
            print_line(f"kept {reference}: a container uses it")
        if not (pruned.removed or pruned.in_use):
            print_line("there is nothing to remove")
