"""Images on their way: from and to a registry, into a file and out of it."""

from pathlib import Path
from typing import Any

from docker import DockerClient

from orchestrator.images.build import ReportLine, follow, ignore, image_errors
from orchestrator.images.image_steps import PullSteps
from orchestrator.images.settings import PREFIX, ImageSettings
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import ImageError
from runner.contract.files import atomic_file


def pull_image(
    client: DockerClient, settings: ImageSettings, name: str, report: ReportLine
) -> None:
    """Fetch an image from the registry: by its published digest, else by its tag."""
    reference = _in_registry(settings, name, "pulled from")
    repository, tag = settings.repository(name), settings.version
    published = settings.published(name)
    hint = "is it published? `orchestrator images build` builds it"
    with image_errors(f"{reference}: cannot be pulled", hint):
        fetch_image(client, name, repository, report, published.digest if published else tag)
        if published:
            client.api.tag(f"{repository}@{published.digest}", repository, tag)


def fetch_image(
    client: DockerClient, name: str, reference: str, report: ReportLine, tag: str | None = None
) -> None:
    """Fetch what has that reference, or that tag or digest in a repository."""
    events = client.api.pull(reference, tag, stream=True, decode=True)
    follow(PullSteps(name, report).watch(events), ignore)


def push_image(client: DockerClient, settings: ImageSettings, name: str, image_id: str) -> None:
    """Publish an image to the registry under this version's name."""
    reference = _in_registry(settings, name, "pushed to")
    repository, tag = settings.repository(name), settings.version
    with image_errors(f"{reference}: cannot be pushed", "try `docker login` first"):
        client.api.tag(image_id, repository, tag)
        follow(client.api.push(repository, tag, stream=True, decode=True), ignore)


def save_image(client: DockerClient, reference: str, path: Path) -> None:
    """Write an image into a file, whole or not at all."""
    hint = "see that there is room for it, or name another file"
    with (
        translate_os_errors(path, "the image cannot be written", hint),
        atomic_file(path) as file,
        image_errors(f"{reference}: cannot be saved", "`orchestrator images list` shows its state"),
    ):
        for chunk in client.api.get_image(reference):
            file.write(chunk)


def load_images(client: DockerClient, path: Path) -> None:
    """Give the engine the images in a file that `save_image` wrote."""
    with translate_os_errors(path, "cannot be read", "name a file of `orchestrator images save`"):
        file = path.open("rb")
    hint = "is it a file of `orchestrator images save`?"
    with file, image_errors(f"{path}: cannot be loaded", hint):
        api: Any = client.api
        follow(api.load_image(file), ignore)


def _in_registry(settings: ImageSettings, name: str, action: str) -> str:
    """The image's full name, if a registry is configured that it could be on its way to or from."""
    if not settings.registry:
        raise ImageError(
            f"image {name}: no registry is configured that it could be {action}",
            hint=f"name one in {PREFIX}REGISTRY, e.g. ghcr.io/somebody",
        )
    return settings.reference(name)
