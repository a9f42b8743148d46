"""The images of one engine: find, build, pull, push, list and prune them."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NullResource

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.images.build import (
    FreeBytes,
    ReportLine,
    build_image,
    check_disk,
    follow,
    ignore,
    image_errors,
    watch_pull,
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
from orchestrator.images.settings import PREFIX, ImageSettings, image_name
from orchestrator.screen.words.reasons import error_text
from orchestrator.system.engine import engine_errors
from orchestrator.system.files import translate_os_errors
from runner.contract.axes import Backend
from runner.contract.errors import ImageError, StoreError
from runner.contract.files import atomic_file
from runner.contract.reasons import reason


@dataclass(frozen=True)
class PrunedImages:
    """The outcome of a removal."""

    removed: tuple[str, ...]
    """References, or ids of images without one."""
    in_use: tuple[str, ...]
    """Those that a container still holds."""


class LocalImages:
    """Every image of one engine under one registry and version."""

    def __init__(
        self,
        client: DockerClient,
        settings: ImageSettings,
        report: ReportLine = ignore,
        free: FreeBytes = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._client = client
        self._settings = settings
        self._report = report
        self._free = free
        self._built = BuiltImages(settings.built)

    def find(self, backend: Backend) -> Image | None:
        return self._find(image_name(backend))

    def ensure(self, backend: Backend) -> Image:
        """The backend's image: chosen by the user, else fresh and at hand, else pulled, else built.

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
        name = image_name(backend)
        source = self._settings.source(name)
        if source is None:
            folder = self._settings.folders.images
            raise ImageError(reason("no_dockerfile", image=name, folder=folder))
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
        repository, tag = self._in_registry(name, "pulled from"), self._settings.version
        published = self._settings.published(name)
        hint = f"is it published? `orchestrator images build {name}` builds it"
        with image_errors(f"{repository}:{tag}: cannot be pulled", hint):
            self._fetch(name, repository, published.digest if published else tag)
            if published:
                self._client.api.tag(f"{repository}@{published.digest}", repository, tag)
        return self._require(name)

    def push(self, backend: Backend) -> Image:
        """Publish the backend's image to the registry; one built without a registry is tagged."""
        name = image_name(backend)
        image = self._find(name)
        if image is None:
            without = replace(self._settings, registry="")
            image = LocalImages(self._client, without)._require(name)
        image_id = self._verified(image).id
        repository, tag = self._in_registry(name, "pushed to"), self._settings.version
        with image_errors(f"{repository}:{tag}: cannot be pushed", "try `docker login` first"):
            self._client.api.tag(image_id, repository, tag)
            follow(self._client.api.push(repository, tag, stream=True, decode=True), ignore)
        return self._require(name)

    def save(self, backend: Backend, path: Path) -> Image:
        image = self._verified(self._require(image_name(backend)))
        no_room = "see that there is room for it, or name another file"
        hint = "`orchestrator images list` shows its state"
        with (
            translate_os_errors(path, "the image cannot be written", no_room),
            atomic_file(path) as file,
            image_errors(f"{image.reference}: cannot be saved", hint),
        ):
            for chunk in self._client.api.get_image(image.reference):
                file.write(chunk)
        return image

    def load(self, path: Path) -> tuple[Image, ...]:
        """Take this version's images from a file that `save` wrote."""
        unreadable = "name a file of `orchestrator images save`"
        with translate_os_errors(path, "cannot be read", unreadable):
            file = path.open("rb")
        hint = "is it a file of `orchestrator images save`?"
        with file, image_errors(f"{path}: cannot be loaded", hint):
            api: Any = self._client.api
            follow(api.load_image(file), ignore)
        images = tuple(filter(None, map(self._find, image_names())))
        if not images:
            raise ImageError(
                f"{path}: holds no image of AccelMatrix {self._settings.version} under the names of"
                f" {self._settings.registry or 'local images'}",
                hint=f"set {PREFIX}REGISTRY to what it was when they were saved",
            )
        return images

    def prune(self, *, everything: bool = False) -> PrunedImages:
        """Remove images of other versions and those that lost their name; or `everything` of ours.

        An image is ours if it carries our label and our name: one that somebody built upon ours
        inherits the label.
        """
        removed: list[str] = []
        in_use: list[str] = []
        with engine_errors("images cannot be removed"):
            for image in self._client.api.images(filters={"label": BACKEND_LABEL}):
                for reference in _ours(image):
                    if everything or not reference.endswith(f":{self._settings.version}"):
                        (removed if self._remove(reference) else in_use).append(reference)
        return PrunedImages(tuple(removed), tuple(in_use))

    def _remove(self, reference: str) -> bool:
        with suppress(ImageNotFound):
            try:
                self._client.api.remove_image(reference)
            except APIError as error:
                if error.status_code == 409:
                    return False
                raise
        return True

    def list(self) -> list[ImageStatus]:
        images = {name: self._find(name) for name in image_names()}
        return [
            ImageStatus(
                name=name,
                backends=backends,
                reference=self._settings.reference(name),
                support_class=CATALOGUE[backends[0]].support_class,
                image=(image := images[name]),
                fresh=image is not None and self._is_fresh(name, image),
            )
            for name, backends in image_names().items()
        ]

    def _fetch(self, name: str, reference: str, tag: str | None = None) -> None:
        events = self._client.api.pull(reference, tag, stream=True, decode=True)
        follow(watch_pull(name, events, self._report), ignore)

    def _in_registry(self, name: str, action: str) -> str:
        if not self._settings.registry:
            raise ImageError(
                f"image {name}: no registry is configured that it could be {action}",
                hint=f"name one in {PREFIX}REGISTRY, e.g. ghcr.io/somebody",
            )
        return self._settings.repository(name)

    def _chosen(self, name: str, reference: str) -> Image:
        if (inspected := self._inspect(reference)) is None:
            with image_errors(f"{reference}: cannot be pulled", "is its name right?"):
                self._fetch(name, reference)
            inspected = self._inspect(reference)
        if inspected is None:
            raise ImageError(reason("pull_left_nothing", reference=reference))
        image = read_image(reference, inspected)
        return self._verified(self._judge(image, image.digest))

    def _inspect(self, reference: str) -> Mapping[str, Any] | None:
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

    def _require(self, name: str) -> Image:
        image = self._find(name)
        if image is None:
            label = f"{BACKEND_LABEL}={name}"
            reference = self._settings.reference(name)
            raise ImageError(reason("no_such_image", reference=reference, label=label))
        return image

    def _is_fresh(self, name: str, image: Image) -> bool:
        if image.trust == "image not verified":
            return False
        published = self._settings.publication(image.digest, image.id)
        made_of = self._built.source(name, image.id) or (published.source if published else None)
        source = self._settings.source(name)
        return made_of is not None and source is not None and made_of == source.fingerprint()

    def _is_published(self, name: str) -> bool:
        """True if this version's release has an image of these very files, on the usual base."""
        published, source = self._settings.published(name), self._settings.source(name)
        is_same = published and source and published.source == source.fingerprint()
        return bool(is_same and "BASE_IMAGE" not in self._settings.arguments(name))


def _ours(image: dict[str, Any]) -> Iterator[str]:
    name = f"accelmatrix-{image['Labels'][BACKEND_LABEL]}"
    tags = [tag for tag in image["RepoTags"] or () if tag != "<none>:<none>"]
    if not tags:
        yield image["Id"]
    yield from (tag for tag in tags if tag.rpartition(":")[0].rpartition("/")[2] == name)
