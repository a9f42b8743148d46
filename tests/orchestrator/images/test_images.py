from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from orchestrator.images import LocalImages, prune_images
from orchestrator.images.build import follow, ignore
from orchestrator.launchers.registry import Pinned, PinnedImages
from runner.contract.errors import EngineUnavailable, ImageError, Unavailable
from tests.orchestrator.images.conftest import Workshop
from tests.support.proxy import EngineProxy


@pytest.mark.engine
def test_an_image_is_built_once_and_says_what_it_is(workshop: Workshop) -> None:
    shelf = workshop.shelf(revision="abc123")
    image = shelf.ensure("cpu")
    assert image.reference == f"accelmatrix-cpu:{workshop.settings.version}"
    assert image.digest == image.id
    assert image.size_bytes > 0
    assert image.labels["org.opencontainers.image.title"] == "accelmatrix-cpu"
    assert image.labels["org.opencontainers.image.version"] == workshop.settings.version
    assert image.labels["org.opencontainers.image.revision"] == "abc123"
    assert image.labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert image.labels["org.accelmatrix.backend"] == "cpu"
    assert image.labels["org.accelmatrix.source"].startswith("sha256:")
    workshop.lines.clear()
    assert shelf.ensure("fake") == image
    assert workshop.lines == []


@pytest.mark.slow
@pytest.mark.engine
def test_a_stale_image_is_recognised_and_built_again(workshop: Workshop) -> None:
    first = workshop.shelf().ensure("cpu")
    workshop.write("runner/__init__.py", "# changed")
    (status,) = [row for row in workshop.shelf().list() if row.name == "cpu"]
    assert not status.fresh
    second = workshop.shelf().ensure("cpu")
    assert second.id != first.id
    assert second.labels["org.accelmatrix.source"] != first.labels["org.accelmatrix.source"]


@pytest.mark.slow
@pytest.mark.engine
def test_an_image_is_found_by_its_digest_when_its_name_is_anothers(workshop: Workshop) -> None:
    first = workshop.shelf().ensure("cpu")
    workshop.write("runner/__init__.py", "# changed")
    second = workshop.shelf().ensure("cpu")
    found = workshop.shelf().exactly(first.reference, first.digest)
    assert (found.id, found.digest) == (first.id, first.digest)
    pinned = PinnedImages(workshop.shelf(), Pinned("fake", first.reference, first.digest))
    assert (pinned.ensure("fake").id, pinned.ensure("cpu").id) == (first.id, second.id)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("accelmatrix-cpu:1", "only the engine that built it had it"),
        ("ghcr.io/a/accelmatrix-cpu:1", "docker pull ghcr.io/a/accelmatrix-cpu@sha256:000"),
    ],
)
def test_an_image_that_is_gone_is_not_replaced_by_another(
    workshop: Workshop, reference: str, hint: str
) -> None:
    with pytest.raises(ImageError, match="no image with the digest sha256:000") as caught:
        workshop.shelf().exactly(reference, "sha256:" + "0" * 64)
    assert hint in str(caught.value.hint)


@pytest.mark.engine
def test_the_build_is_reported_and_logged(workshop: Workshop) -> None:
    workshop.shelf().build("cpu")
    assert any("COPY runner" in line for line in workshop.lines)
    log = (workshop.settings.logs / "build-cpu.log").read_text()
    assert log.splitlines() == workshop.lines


@pytest.mark.engine
def test_build_arguments_reach_the_dockerfile(workshop: Workshop) -> None:
    dockerfile = "ARG BASE_IMAGE=python\nFROM ${BASE_IMAGE}\nCOPY runner /runner\n"
    workshop.write("images/cpu/Dockerfile", dockerfile)
    assert workshop.shelf(build_args={"BASE_IMAGE": "scratch"}).build("cpu").size_bytes < 1000


@pytest.mark.engine
def test_a_failed_build_points_to_its_log(workshop: Workshop) -> None:
    workshop.write("images/cpu/Dockerfile", "FROM scratch\nCOPY nothing /\n")
    with pytest.raises(ImageError, match=r"cannot be built: .*nothing") as caught:
        workshop.shelf().ensure("cpu")
    assert caught.value.exit_code == 5
    assert "build-cpu.log" in str(caught.value.hint)
    assert workshop.shelf().find("cpu") is None


@pytest.mark.engine
def test_a_base_that_cannot_be_had_is_named_with_the_variable_for_another(
    workshop: Workshop,
) -> None:
    dockerfile = "ARG BASE_IMAGE=nowhere.invalid/base:1\nFROM ${BASE_IMAGE}\nCOPY runner /runner\n"
    workshop.write("images/cpu/Dockerfile", dockerfile)
    with pytest.raises(ImageError, match=r"cannot be built: Step 2/\d+ : FROM .*: .") as caught:
        workshop.shelf().build("cpu")
    hint = str(caught.value.hint)
    assert "nowhere.invalid/base:1, ACCELMATRIX_CPU_BASE_IMAGE names another base" in hint


@pytest.mark.engine
def test_a_log_that_cannot_be_written(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageError, match="log cannot be written"):
        workshop.shelf(logs=tmp_path / "file/logs").build("cpu")


@pytest.mark.engine
def test_too_little_disk_is_told_before_the_build(workshop: Workshop) -> None:
    shelf = LocalImages(
        workshop.client, workshop.settings, workshop.lines.append, lambda _: 1 << 20
    )
    with pytest.raises(ImageError, match=r"about 3GiB in .*, where 1MiB are free") as caught:
        shelf.ensure("cpu")
    assert "images prune" in str(caught.value.hint)
    assert workshop.lines == []


@pytest.mark.engine
def test_without_checkout_and_registry_nothing_can_be_had(
    workshop: Workshop, tmp_path: Path
) -> None:
    shelf = workshop.shelf(checkout=tmp_path / "elsewhere")
    with pytest.raises(ImageError, match="no registry is configured") as caught:
        shelf.ensure("cpu")
    assert "ACCELMATRIX_REGISTRY" in str(caught.value.hint)
    with pytest.raises(ImageError, match="holds no images/cpu/Dockerfile"):
        shelf.build("cpu")


@pytest.mark.engine
def test_without_checkout_an_image_at_hand_is_good_enough(
    workshop: Workshop, tmp_path: Path
) -> None:
    image = workshop.shelf().ensure("cpu")
    assert workshop.shelf(checkout=tmp_path / "elsewhere").ensure("cpu") == image


@pytest.mark.engine
def test_backends_that_are_not_built_yet(workshop: Workshop) -> None:
    with pytest.raises(ImageError, match="image browser") as caught:
        workshop.shelf().ensure("webgpu")
    assert caught.value.hint == "this version of AccelMatrix has no such image yet"
    with pytest.raises(Unavailable):
        workshop.shelf().ensure("mps")


@pytest.mark.engine
def test_a_foreign_image_by_our_name_is_not_ours(workshop: Workshop) -> None:
    image, _ = workshop.client.images.build(
        path=str(workshop.checkout),
        dockerfile="images/cpu/Dockerfile",
        tag=workshop.settings.reference("cpu"),
        rm=True,
    )
    try:
        assert workshop.shelf().find("cpu") is None
    finally:
        workshop.client.images.remove(workshop.settings.reference("cpu"))
    assert image.id


@pytest.mark.engine
def test_the_list_shows_every_image_there_or_not(workshop: Workshop) -> None:
    image = workshop.shelf().build("cpu")
    rows = {row.name: row for row in workshop.shelf().list()}
    assert list(rows) == ["cpu", "cuda", "rocm", "openvino", "qnn", "browser"]
    assert (rows["cpu"].image, rows["cpu"].fresh, rows["cpu"].support_class) == (image, True, 1)
    cuda = rows["cuda"]
    assert (cuda.image, cuda.fresh, cuda.support_class) == (None, False, 3)
    assert rows["browser"].backends == ("webnn", "webgpu", "wasm")


@pytest.mark.engine
def test_an_engine_that_is_gone(workshop: Workshop, proxy: EngineProxy) -> None:
    client = DockerClient(base_url=f"unix://{proxy.path}", version="auto")
    proxy.cut()
    shelf = LocalImages(client, workshop.settings)
    for attempt in (shelf.ensure, shelf.build, shelf.find):
        with pytest.raises(EngineUnavailable):
            attempt("cpu")
    with pytest.raises(EngineUnavailable):
        prune_images(client, workshop.settings)


def test_the_account_of_a_build_becomes_lines_without_progress_bars() -> None:
    lines: list[str] = []
    events: list[dict[str, Any]] = [
        {"stream": "Step 1\n"},
        {"stream": "\n"},
        {"status": "Pulling", "id": "abc", "progressDetail": {}},
        {"status": "Downloading", "id": "abc", "progressDetail": {"current": 1}},
        {"aux": {"ID": "sha256:1"}},
    ]
    follow(events, lines.append)
    assert lines == ["Step 1", "abc: Pulling"]


def test_a_failure_inside_the_account_is_raised() -> None:
    with pytest.raises(ImageError, match="no space left"):
        follow([{"stream": "a"}, {"error": "no space left\n"}], ignore)
