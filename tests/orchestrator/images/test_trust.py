"""Trust in images: what was built here, and digests that are known."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker import DockerClient
from docker.errors import ImageNotFound

from orchestrator.images.image import (
    BACKEND_LABEL,
    MOST_BUILDS,
    SOURCE_LABEL,
    TRUST_LABEL,
    BuiltImages,
    state_file,
)
from orchestrator.images.local_images import LocalImages
from orchestrator.images.lock import PlatformImage, Release, ReleasedImage
from orchestrator.images.settings import ImageSettings
from orchestrator.images.source import SourceFolders, find_source
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import ImageError, StoreError
from tests.orchestrator.images.conftest import tiny_checkout
from tests.support.words import raises_words

ID, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
DIGEST = "sha256:" + "d" * 64
REPOSITORY = "registry.example/accelmatrix-cpu"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "built-images.json"


def test_builds_are_remembered_by_id_and_name_for_the_next_process(file: Path) -> None:
    BuiltImages(file).add("cpu", ID, "sha256:source")
    later = BuiltImages(file)
    assert later.holds(ID)
    assert (later.source("cpu", ID), later.source("cuda", ID)) == ("sha256:source", None)
    assert not later.holds(OTHER)
    assert file.parent.stat().st_mode & 0o077 == 0


def test_the_oldest_builds_are_forgotten(file: Path) -> None:
    file.parent.mkdir()
    builds = {f"sha256:{number}": {"name": "cpu"} for number in range(MOST_BUILDS)}
    file.write_text(json.dumps(builds))
    BuiltImages(file).add("cpu", ID, "sha256:source")
    assert BuiltImages(file).holds(ID)
    assert not BuiltImages(file).holds("sha256:0")
    assert BuiltImages(file).holds("sha256:1")


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"name": 1}}', "[" * 100_000, "\0"])
def test_a_damaged_file_is_none_and_made_anew(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert not BuiltImages(file).holds("a")
    BuiltImages(file).add("cpu", ID, "sha256:source")
    assert BuiltImages(file).holds(ID)


def test_a_file_of_somebody_else_or_a_link_is_none(file: Path, tmp_path: Path) -> None:
    BuiltImages(file).add("cpu", ID, "sha256:source")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert not BuiltImages(link).holds(ID)
    if os.getuid() == 0:
        os.chown(file, 1234, 1234)
        assert not BuiltImages(file).holds(ID)


def test_what_cannot_be_kept_is_said_and_known_for_now(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    built = BuiltImages(tmp_path / "file" / "built-images.json")
    with pytest.raises(StoreError, match="cannot be kept") as caught:
        built.add("cpu", ID, "sha256:source")
    assert "ACCELMATRIX_STATE" in str(error_hint(caught.value))
    assert built.holds(ID)


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"ACCELMATRIX_STATE": "/s", "HOME": "/h"}, "/s/built-images.json"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/accelmatrix/built-images.json"),
        ({"HOME": "/h"}, "/h/.local/state/accelmatrix/built-images.json"),
        ({}, None),
    ],
)
def test_the_file_lies_in_a_folder_of_the_users(
    environment: dict[str, str], path: str | None
) -> None:
    assert state_file(environment) == (Path(path) if path else None)


@dataclass
class FakeEngine:
    """Holds one image under one reference; a build puts another in its place."""

    reference: str
    image_id: str
    labels: dict[str, str]
    architecture: str = "amd64"
    digests: tuple[str, ...] = ()
    calls: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)

    @property
    def client(self) -> DockerClient:
        api = SimpleNamespace(base_url="tcp://elsewhere", build=self._build)
        images = SimpleNamespace(get=self._get)
        info = {"DockerRootDir": "/nowhere"}
        engine = {"info": lambda: info, "version": lambda: {"Arch": "amd64"}}
        return cast("DockerClient", SimpleNamespace(api=api, images=images, **engine))

    def _get(self, name: str) -> Any:
        if name not in {self.reference, self.image_id, *self.digests}:
            raise ImageNotFound(name)
        return SimpleNamespace(
            attrs={
                "Id": self.image_id,
                "RepoDigests": list(self.digests),
                "Config": {"Labels": self.labels},
                "Architecture": self.architecture,
                "Size": 1,
                "Created": "",
            }
        )

    def _build(
        self, *, labels: dict[str, str], buildargs: dict[str, str], **_: object
    ) -> list[dict[str, Any]]:
        self.calls.append("build")
        self.arguments = buildargs
        self.image_id, self.labels, self.digests = OTHER, labels, ()
        return [{"stream": "Step 1\n"}, {"aux": {"ID": OTHER}}]


@dataclass
class Site:
    """A checkout, an engine that holds an image with our labels, and settings."""

    engine: FakeEngine
    settings: ImageSettings

    def ensure(self, **changes: Any) -> Any:
        settings = ImageSettings(**{**vars(self.settings), **changes})
        return LocalImages(self.engine.client, settings).ensure("cpu")


@pytest.fixture
def site(tmp_path: Path, file: Path) -> Site:
    """The image there carries every label of a fresh one, its own word on its trust included."""
    checkout = tiny_checkout(tmp_path / "checkout")
    source = find_source("cpu", SourceFolders.of(checkout))
    assert source
    labels = {BACKEND_LABEL: "cpu", SOURCE_LABEL: source.fingerprint(), TRUST_LABEL: "built here"}
    settings = ImageSettings(
        "registry.example", folders=SourceFolders.of(checkout), logs=tmp_path, built=file
    )
    digests = (f"{REPOSITORY}@{DIGEST}",)
    engine = FakeEngine(settings.reference("cpu"), ID, labels, digests=digests)
    return Site(engine, settings)


def published(site: Site, digest: str = DIGEST, config: str = OTHER) -> dict[str, Any]:
    """A lock with an image of the site's own files under that digest."""
    source = site.settings.source("cpu")
    assert source
    part = PlatformImage(manifest=digest, config=config, bytes=1)
    image = ReleasedImage(
        digest=digest, platforms={"linux/amd64": part}, source=source.fingerprint()
    )
    release = Release(registry="registry.example", images={"cpu": image})
    return {"lock": {site.settings.version: release}}


def test_labels_alone_make_no_image_fresh(site: Site) -> None:
    image = site.ensure()
    assert (image.id, image.trust, site.engine.calls) == (OTHER, "built here", ["build"])
    assert image.labels[TRUST_LABEL] == "built here"
    assert site.ensure() == image
    assert site.engine.calls == ["build"]


def test_an_image_that_was_built_here_of_these_files_is_taken(site: Site) -> None:
    BuiltImages(site.settings.built).add("cpu", ID, site.engine.labels[SOURCE_LABEL])
    assert (site.ensure().id, site.engine.calls) == (ID, [])


def test_an_image_built_here_of_other_files_is_stale_whatever_it_says(site: Site) -> None:
    BuiltImages(site.settings.built).add("cpu", ID, "sha256:older")
    assert (site.ensure().id, site.engine.calls) == (OTHER, ["build"])


def test_a_published_digest_is_fresh_if_the_lock_says_so_whatever_its_labels(site: Site) -> None:
    site.engine.labels[SOURCE_LABEL] = "sha256:older"
    lock = published(site)
    image = site.ensure(**lock)
    assert (image.id, image.trust, site.engine.calls) == (ID, "published digest", [])
    (site.settings.folders.runner / "__init__.py").write_text("# changed")
    assert site.ensure(**lock).id == OTHER


def test_a_published_image_without_a_registrys_digest_is_known_by_its_content(site: Site) -> None:
    site.engine.digests = ()
    image = site.ensure(**published(site, config=ID))
    assert (image.id, image.digest, image.trust) == (ID, DIGEST, "published digest")


def test_a_chosen_image_is_used_whoever_made_it_and_the_record_says_so(site: Site) -> None:
    image = site.ensure(chosen={"cpu": site.engine.reference})
    assert (image.id, image.trust, site.engine.calls) == (ID, "chosen by the user", [])
    assert image.labels[TRUST_LABEL] == "chosen by the user"


def test_an_image_of_another_processor_is_refused(site: Site) -> None:
    site.engine.architecture = "arm64"
    with raises_words(ImageError, match="is for arm64, and the engine's machine is amd64"):
        site.ensure(chosen={"cpu": site.engine.reference})


def test_an_exact_image_is_trusted_like_any_other(site: Site) -> None:
    def exactly(**changes: Any) -> Any:
        settings = ImageSettings(**{**vars(site.settings), **changes})
        images = LocalImages(site.engine.client, settings)
        return images.exactly(site.engine.reference, DIGEST)

    with raises_words(ImageError, match="image not verified"):
        exactly()
    assert exactly(**published(site)).trust == "published digest"
    assert exactly(chosen={"cpu": site.engine.reference}).trust == "chosen by the user"


PINNED = "python:3@" + DIGEST


@pytest.mark.parametrize(
    ("digest", "chosen", "argument", "label"),
    [
        ("null", "", None, "base not pinned: python:3"),
        (f'"{DIGEST}"', "", PINNED, PINNED),
        (f'"{DIGEST}"', "mirror/python:3", "mirror/python:3", "base not pinned: mirror/python:3"),
        ("null", f"mirror/{PINNED}", f"mirror/{PINNED}", f"mirror/{PINNED}"),
    ],
)
def test_an_image_says_its_base_and_whether_that_is_pinned(
    site: Site, digest: str, chosen: str, argument: str | None, label: str
) -> None:
    images = site.settings.folders.images
    (images / "cpu/Dockerfile").write_text("ARG BASE_IMAGE=python:3\n")
    (images / "bases.json").write_text(f'{{"python:3": {digest}}}')
    image = site.ensure(build_args={"BASE_IMAGE": chosen} if chosen else {})
    assert site.engine.arguments.get("BASE_IMAGE") == argument
    assert image.labels["org.accelmatrix.base"] == label
    assert image.labels["org.accelmatrix.hashes"] == "published"
