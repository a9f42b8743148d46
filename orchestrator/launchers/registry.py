"""The registry of launchers: the choice of one for a run, and its making."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from orchestrator.backends.catalogue import LauncherName
from orchestrator.images.image import Image
from orchestrator.images.settings import ImageSettings
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.system.git import own_commit
from runner.contract.axes import Backend


class _Launchers(Mapping[LauncherName, type[Launcher]]):
    """The launchers by name; docker's brings its SDK, so it is imported when it is asked for."""

    def __getitem__(self, name: LauncherName) -> type[Launcher]:
        if name == "docker":
            from orchestrator.launchers.docker import DockerLauncher

            return DockerLauncher
        if name == "process":
            return ProcessLauncher
        raise KeyError(name)

    def __iter__(self) -> Iterator[LauncherName]:
        return iter(get_args(LauncherName))

    def __len__(self) -> int:
        return len(get_args(LauncherName))


LAUNCHERS: Mapping[LauncherName, type[Launcher]] = _Launchers()
if TYPE_CHECKING:
    from orchestrator.images.local_images import LocalImages

NOTHING_CHOSEN: Mapping[Backend, str] = MappingProxyType({})
NO_ENGINE = "no container engine answers: jobs run as local processes"

Note = Callable[[str], None]
"""Takes one line that the user should see."""


@dataclass(frozen=True)
class Pinned:
    """The image that one backend's jobs shall execute in, and no other."""

    backend: Backend
    reference: str
    """Its name and tag when it was used."""
    digest: str
    """`sha256:…`"""


class PinnedImages:
    """The pinned images of some backends; for others, references for one, today's images."""

    def __init__(self, images: "LocalImages", pinned: Iterable[Pinned]) -> None:
        self._images = images
        self._pinned = {image.backend: image for image in pinned}

    def ensure(self, backend: Backend) -> Image:
        if pinned := self._pinned.get(backend):
            return self._images.exactly(pinned.reference, pinned.digest)
        return self._images.ensure(backend)


def known_launcher(name: str | None) -> LauncherName | None:
    return next((known for known in LAUNCHERS if known == name), None)


def choose_launcher(requested: str, note: Note) -> LauncherName:
    """The requested launcher; for `auto` containers if an engine answers, else processes."""
    ImageSettings.from_environment()  # refuses a bad variable before anything is made
    if name := known_launcher(requested):
        if LAUNCHERS[name].needs_images:
            from orchestrator.system.engine import connect_engine

            connect_engine().close()
        return name
    if _engine_answers():
        return "docker"
    note(NO_ENGINE)
    return "process"


def preview_launcher(requested: str) -> type[Launcher]:
    if name := known_launcher(requested):
        return LAUNCHERS[name]
    return LAUNCHERS["docker" if _engine_answers() else "process"]


def make_launcher(
    name: LauncherName,
    image_step: Note,
    pinned: Collection[Pinned] = (),
    chosen: Mapping[Backend, str] = NOTHING_CHOSEN,
) -> Launcher:
    """The launcher of that name, with today's images save for pinned or chosen ones."""
    if name == "process":
        return ProcessLauncher()
    from orchestrator.images.local_images import LocalImages
    from orchestrator.launchers.docker import DockerLauncher
    from orchestrator.system.engine import connect_engine

    client = connect_engine()
    settings = ImageSettings.from_environment(revision=own_commit())
    images = LocalImages(client, replace(settings, chosen=chosen), image_step)
    return DockerLauncher(client, PinnedImages(images, pinned) if pinned else images)


def _engine_answers() -> bool:
    from orchestrator.system.engine import engine_answers  # which imports docker's SDK

    return engine_answers()
