"""The images of one engine: find, build, pull, push, list and prune them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NullResource

from orchestrator.backends.catalogue import CATALOGUE, SupportClass, image_names
from orchestrator.images.build import (
    FreeBytes,
    ReportLine,
    build_image,
    check_disk,
    follow,
    free_bytes,
    ignore,
    image_errors,
)
from orchestrator.images.image import (
    BACKEND_LABEL,
    SOURCE_LABEL,
    Image,
    ImageSource,
    find_source,
    read_image,
)
from orchestrator.images.settings import PREFIX, ImageSettings, image_name
from orchestrator.system.engine import engine_errors
from runner.contract.cell import Backend
from runner.contract.errors import ImageError


@dataclass(frozen=True)
class ImageStatus:
    """One row of `images list`."""

    name: str
    """The image's name without `accelmatrix-`."""
    backends: tuple[Backend, ...]
    """The backends that execute in it."""
    reference: str
    """Full name and tag."""
    support_class: SupportClass | None
    """The support class of the first of these backends; None: this version has no such image."""
    image: Image | None
    """The image that the engine holds under that reference."""
    fresh: bool
    """True if it is there and made of the checkout's present files."""


class LocalImages:
    """Every image of one engine under one registry and version."""

    def __init__(
        self,
        client: DockerClient,
        settings: ImageSettings,
        report: ReportLine = ignore,
        free: FreeBytes = free_bytes,
    ) -> None:
        self._client = client
        self._settings = settings
        self._report = report
        self._free = free

    def find(self, backend: Backend) -> Image | None:
        """The backend's image, if the engine holds it and it is ours.

        Raises:
            EngineUnavailable: the engine went away.
        """
        return self._find(image_name(backend))

    def ensure(self, backend: Backend) -> Image:
        """The backend's image: the one at hand if it is fresh, else built, else pulled.

        Raises:
            ImageError: it can't be had.
            EngineUnavailable: the engine went away.
        """
        name = image_name(backend)
        image = self._find(name)
        if image and self._is_fresh(name, image):
            return image
        if self._source(name):
            return self.build(backend)
        if not _is_published(name):
            raise self._nothing_to_build(name)
        return self.pull(backend)

    def exactly(self, reference: str, digest: str) -> Image:
        """The image with this digest, whatever bears its name today.

        Raises:
            ImageError: the engine does not hold it.
            EngineUnavailable: the engine went away.
        """
        repository = reference.rpartition(":")[0]
        for name in (digest, f"{repository}@{digest}"):
            with engine_errors(f"{name}: the engine went away"):
                try:
                    inspected = self._client.images.get(name).attrs
                except (ImageNotFound, NullResource):
                    continue
            return replace(read_image(reference, inspected), digest=digest)
        raise ImageError(
            f"{reference}: the engine holds no image with the digest {digest}",
            hint=f"fetch it: `docker pull {repository}@{digest}`"
            if "/" in repository
            else "only the engine that built it had it; `orchestrator run` measures with today's",
        )

    def build(self, backend: Backend) -> Image:
        """Build the backend's image from the checkout. The log goes to a file of its own.

        Raises:
            ImageError: it failed, or there is nothing to build from.
            EngineUnavailable: the engine went away.
        """
        name = image_name(backend)
        source = self._source(name)
        if source is None:
            raise self._nothing_to_build(name)
        check_disk(self._client, name, self._free)
        build_image(self._client, self._settings, name, source, self._report)
        return self._require(name)

    def pull(self, backend: Backend) -> Image:
        """Fetch the backend's image from the registry.

        Raises:
            ImageError: it failed, or no registry is configured.
            EngineUnavailable: the engine went away.
        """
        name = image_name(backend)
        reference = self._require_registry(name, "pulled")
        hint = "is it published? `orchestrator images build` builds it from a checkout"
        check_disk(self._client, name, self._free)
        with image_errors(f"{reference}: cannot be pulled", hint):
            repository, tag = self._settings.repository(name), self._settings.version
            events = self._client.api.pull(repository, tag, stream=True, decode=True)
            follow(events, self._report)
        return self._require(name)

    def push(self, backend: Backend) -> Image:
        """Publish the backend's image to the registry; one built without a registry is tagged.

        Raises:
            ImageError: it failed, is missing here, or no registry is configured.
            EngineUnavailable: the engine went away.
        """
        name = image_name(backend)
        reference = self._require_registry(name, "pushed")
        repository, tag = self._settings.repository(name), self._settings.version
        image = self._find(name) or self._local(name)
        with image_errors(f"{reference}: cannot be pushed", "try `docker login` first"):
            self._client.api.tag(image.id, repository, tag)
            events = self._client.api.push(repository, tag, stream=True, decode=True)
            follow(events, self._report)
        return self._require(name)

    def list(self) -> list[ImageStatus]:
        """Every image of this version, whether it is there or not.

        Raises:
            EngineUnavailable: the engine went away.
        """
        return [self._status(name, backends) for name, backends in image_names().items()]

    def _status(self, name: str, backends: tuple[Backend, ...]) -> ImageStatus:
        image = self._find(name)
        return ImageStatus(
            name=name,
            backends=backends,
            reference=self._settings.reference(name),
            support_class=CATALOGUE[backends[0]].support_class,
            image=image,
            fresh=image is not None and self._is_fresh(name, image),
        )

    def _find(self, name: str) -> Image | None:
        reference = self._settings.reference(name)
        with engine_errors(f"{reference}: the engine went away"):
            try:
                inspected = self._client.images.get(reference).attrs
            except ImageNotFound:
                return None
        image = read_image(reference, inspected)
        return image if image.labels.get(BACKEND_LABEL) == name else None

    def _local(self, name: str) -> Image:
        return LocalImages(self._client, replace(self._settings, registry=""))._require(name)

    def _require(self, name: str) -> Image:
        image = self._find(name)
        if image is None:
            raise ImageError(
                f"{self._settings.reference(name)}: there is no image of AccelMatrix by that name",
                hint=f"ours carry the label {BACKEND_LABEL}={name}",
            )
        return image

    def _nothing_to_build(self, name: str) -> ImageError:
        return ImageError(
            f"image {name}: {self._settings.checkout} holds no images/{name}/Dockerfile",
            hint="run in a checkout of AccelMatrix, or use `orchestrator images pull`"
            if _is_published(name)
            else "this version of AccelMatrix has no such image yet",
        )

    def _source(self, name: str) -> ImageSource | None:
        return find_source(self._settings.checkout, name)

    def _is_fresh(self, name: str, image: Image) -> bool:
        source = self._source(name)
        return source is None or image.labels.get(SOURCE_LABEL) == source.fingerprint()

    def _require_registry(self, name: str, action: str) -> str:
        if not self._settings.registry:
            raise ImageError(
                f"image {name}: no registry is configured that it could be {action} "
                f"{'from' if action == 'pulled' else 'to'}",
                hint=f"name one in {PREFIX}REGISTRY, e.g. ghcr.io/somebody",
            )
        return self._settings.reference(name)


def _is_published(name: str) -> bool:
    return any(CATALOGUE[backend].support_class for backend in image_names()[name])


@dataclass(frozen=True)
class PrunedImages:
    """The outcome of a removal."""

    removed: tuple[str, ...]
    """References, or ids of images without one."""
    in_use: tuple[str, ...]
    """Those that a container still holds."""


def prune_images(
    client: DockerClient, settings: ImageSettings, *, everything: bool = False
) -> PrunedImages:
    """Remove images of other versions and those that lost their name; or `everything` of ours.

    An image is ours if it carries our label and our name: one that somebody built upon ours
    inherits the label.

    Raises:
        EngineUnavailable: the engine went away.
    """
    removed: list[str] = []
    in_use: list[str] = []
    with engine_errors("images cannot be removed"):
        for image in client.api.images(filters={"label": BACKEND_LABEL}):
            for reference in _ours(image):
                if everything or not reference.endswith(f":{settings.version}"):
                    (removed if _remove(client, reference) else in_use).append(reference)
    return PrunedImages(tuple(removed), tuple(in_use))


def _ours(image: dict[str, Any]) -> Iterator[str]:
    name = f"accelmatrix-{image['Labels'][BACKEND_LABEL]}"
    tags = [tag for tag in image["RepoTags"] or () if tag != "<none>:<none>"]
    if not tags:
        yield image["Id"]
    for tag in tags:
        if tag.rpartition(":")[0].rpartition("/")[2] == name:
            yield tag


def _remove(client: DockerClient, reference: str) -> bool:
    try:
        client.api.remove_image(reference)
    except ImageNotFound:
        return True
    except APIError as error:
        if error.status_code == 409:
            return False
        raise
    return True
