"""The images of one engine: find, build, pull, push, list and prune them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound, NullResource

from orchestrator.backends.catalogue import CATALOGUE, image_names
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
    TRUST_LABEL,
    BuiltImages,
    Image,
    ImageStatus,
    ImageTrust,
    image_repository,
    read_image,
)
from orchestrator.images.image_steps import PullSteps
from orchestrator.images.settings import PREFIX, ImageSettings, image_name
from orchestrator.images.source import ImageSource
from orchestrator.screen.words.reasons import error_text
from orchestrator.system.engine import engine_errors
from orchestrator.system.files import translate_os_errors
from runner.contract.cell import Backend
from runner.contract.errors import ImageError, StoreError
from runner.contract.files import atomic_file
from runner.contract.reasons import reason


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
    reference = _in_registry(settings, name, "pushed to")
    repository, tag = settings.repository(name), settings.version
    with image_errors(f"{reference}: cannot be pushed", "try `docker login` first"):
        client.api.tag(image_id, repository, tag)
        follow(client.api.push(repository, tag, stream=True, decode=True), ignore)


def save_image(client: DockerClient, reference: str, path: Path) -> None:
    hint = "see that there is room for it, or name another file"
    with (
        translate_os_errors(path, "the image cannot be written", hint),
        atomic_file(path) as file,
        image_errors(f"{reference}: cannot be saved", "`orchestrator images list` shows its state"),
    ):
        for chunk in client.api.get_image(reference):
            file.write(chunk)


def load_images(client: DockerClient, path: Path) -> None:
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
        self._built = BuiltImages(settings.built)

    def find(self, backend: Backend) -> Image | None:
        """The backend's image, if the engine holds it and it calls itself ours."""
        return self._find(image_name(backend))

    def ensure(self, backend: Backend) -> Image:
        """The backend's image: chosen by the user, else at hand and fresh, else pulled, else built.

        It is pulled if a release published one that was built from these very files.
        """
        name = image_name(backend)
        if reference := self._settings.chosen.get(backend):
            return self._chosen(name, reference)
        image = self._find(name)
        if image and self._is_fresh(name, image):
            return image
        if self._is_published(name):
            try:
                return self._verified(self.pull(backend))
            except ImageError as error:
                self._report(f"{error_text(error)}; it is built here instead")
        return self.build(backend)

    def exactly(self, reference: str, digest: str) -> Image:
        """The image with this digest, whatever bears its name today."""
        repository = image_repository(reference)
        for name in (digest, f"{repository}@{digest}"):
            if inspected := self._inspect(name):
                return self._verified(self._judge(read_image(reference, inspected), digest))
        raise ImageError(
            reason("digest_missing", reference=reference, digest=digest),
            hint=f"fetch it: `docker pull {repository}@{digest}`"
            if "/" in repository
            else "only the engine that built it had it; `orchestrator run` measures with today's",
        )

    def build(self, backend: Backend) -> Image:
        """Build the backend's image from the checkout. The log goes to a file of its own."""
        name = image_name(backend)
        source = self._source(name)
        if source is None:
            raise self._nothing_to_build(name)
        check_disk(self._client, name, self._free)
        image_id = build_image(self._client, self._settings, name, source, self._report)
        try:
            self._built.add(name, image_id, source.fingerprint())
        except StoreError as error:  # it is built again at the next run, from the engine's cache
            self._report(error_text(error))
        return self._verified(self._require(name))

    def pull(self, backend: Backend) -> Image:
        """Fetch the backend's image from the registry: by its published digest, else by its tag."""
        name = image_name(backend)
        check_disk(self._client, name, self._free)
        pull_image(self._client, self._settings, name, self._report)
        return self._require(name)

    def push(self, backend: Backend) -> Image:
        """Publish the backend's image to the registry; one built without a registry is tagged."""
        name = image_name(backend)
        image = self._verified(self._find(name) or self._local(name))
        push_image(self._client, self._settings, name, image.id)
        return self._require(name)

    def save(self, backend: Backend, path: Path) -> Image:
        """Write the backend's image into a file, whole or not at all."""
        image = self._verified(self._require(image_name(backend)))
        save_image(self._client, image.reference, path)
        return image

    def load(self, path: Path) -> tuple[Image, ...]:
        """Take this version's images from a file that `save` wrote."""
        load_images(self._client, path)
        images = tuple(filter(None, map(self._find, image_names())))
        if not images:
            raise ImageError(
                f"{path}: holds no image of AccelMatrix {self._settings.version} under the names of"
                f" {self._settings.registry or 'local images'}",
                hint=f"set {PREFIX}REGISTRY to what it was when they were saved",
            )
        return images

    def list(self) -> list[ImageStatus]:
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

    def _chosen(self, name: str, reference: str) -> Image:
        if (inspected := self._inspect(reference)) is None:
            with image_errors(f"{reference}: cannot be pulled", "is its name right?"):
                fetch_image(self._client, name, reference, self._report)
            inspected = self._inspect(reference)
        if inspected is None:
            raise ImageError(reason("pull_left_nothing", reference=reference))
        image = read_image(reference, inspected)
        return self._verified(self._judge(image, image.digest))

    def _inspect(self, reference: str) -> Mapping[str, Any] | None:
        """The engine's word on an image; None if it holds none by that name."""
        with engine_errors(f"{reference}: the engine went away"):
            try:
                inspected: Mapping[str, Any] = self._client.images.get(reference).attrs
            except (ImageNotFound, NullResource):
                return None
            return inspected

    def _find(self, name: str) -> Image | None:
        reference = self._settings.reference(name)
        if (inspected := self._inspect(reference)) is None:
            return None
        image = read_image(reference, inspected)
        if image.labels.get(BACKEND_LABEL) != name:
            return None
        return self._judge(image, image.digest)

    def _judge(self, image: Image, digest: str) -> Image:
        """The image under that digest, with the trust that it has here."""
        trust: ImageTrust = "image not verified"
        if self._built.holds(image.id):
            trust = "built here"
        elif published := self._settings.publication(digest, image.id):
            trust, digest = "published digest", published.digest
        elif image.reference in self._settings.chosen.values():
            trust = "chosen by the user"
        labels = {**image.labels, TRUST_LABEL: trust}
        return replace(image, digest=digest, labels=labels, trust=trust)

    def _verified(self, image: Image) -> Image:
        """The image, if something vouches for it and nothing emulates its processor."""
        with engine_errors(f"{image.reference}: the engine went away"):
            engine = self._client.version()["Arch"]
        if image.architecture != engine:
            raise ImageError(
                reason(
                    "image_of_other_machine",
                    reference=image.reference,
                    architecture=image.architecture,
                    engine=engine,
                )
            )
        if image.trust != "image not verified":
            return image
        raise ImageError(reason("image_unverified", reference=image.reference, digest=image.digest))

    def _local(self, name: str) -> Image:
        return LocalImages(self._client, replace(self._settings, registry=""))._require(name)

    def _require(self, name: str) -> Image:
        image = self._find(name)
        if image is None:
            label = f"{BACKEND_LABEL}={name}"
            reference = self._settings.reference(name)
            raise ImageError(reason("no_such_image", reference=reference, label=label))
        return image

    def _nothing_to_build(self, name: str) -> ImageError:
        return ImageError(reason("no_dockerfile", image=name, folder=self._settings.folders.images))

    def _source(self, name: str) -> ImageSource | None:
        return self._settings.source(name)

    def _is_fresh(self, name: str, image: Image) -> bool:
        if image.trust == "image not verified":
            return False
        published = self._settings.publication(image.digest, image.id)
        made_of = self._built.source(name, image.id) or (published.source if published else None)
        source = self._source(name)
        return made_of is not None and source is not None and made_of == source.fingerprint()

    def _is_published(self, name: str) -> bool:
        """True if this version's release has an image of these very files, on the usual base."""
        published, source = self._settings.published(name), self._source(name)
        is_same = published and source and published.source == source.fingerprint()
        return bool(is_same and "BASE_IMAGE" not in self._settings.arguments(name))
