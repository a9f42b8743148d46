"""`kill -9` inside a reference, an export and an image's build: the next try begins it anew."""

from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from docker import DockerClient
from docker.errors import ImageNotFound

from orchestrator.images.settings import ImageSettings, image_name
from orchestrator.system.engine import connect_engine
from tests.faults.place import FailingPlace
from tests.faults.table import table
from tests.support.failpoints import Failpoint, kill
from tests.support.nothing_left import assert_nothing_left

pytestmark = [pytest.mark.serial, pytest.mark.timeout(900)]

LAUNCH = "subprocess:Popen.__init__"
MATRIX = """
version: 1
axes: {model: bert-micro, runtime: onnxruntime, batch_size: 1, sequence_length: 16}
measure:
  {profile: quick, iterations: 3, min_duration: 0s, max_duration: 1s, warmup_max_duration: 200ms}
"""
INSIDE = {
    "before an export is launched": kill("before", LAUNCH, "*prepare-*"),
    "once an export is launched": kill("after", LAUNCH, "*prepare-*"),
    "before an export's log": kill("before", "os:replace", "*logs/prepare-*"),
    "before a graph gets its name": kill("before", "os:rename", "*graphs/*"),
    "after a graph got its name": kill("after", "os:rename", "*graphs/*"),
    "before a reference is launched": kill("before", LAUNCH, "*reference-*"),
    "once a reference is launched": kill("after", LAUNCH, "*reference-*"),
    "before a reference gets its name": kill("before", "os:replace", "*.npz"),
    "after a reference got its name": kill("after", "os:replace", "*.npz"),
}
BUILDS = {
    "before an image is built": kill("before", "docker.api.build:BuildApiMixin.build"),
    "at the third step of a build": kill("after", "orchestrator.images.build:_lines", "*Step 3*"),
    "after an image is built": kill("after", "orchestrator.images.build:follow"),
}


@table(INSIDE)
def test_a_run_killed_while_it_prepares_is_finished(place: FailingPlace, moment: Failpoint) -> None:
    (place.folder / "matrix.yaml").write_text(MATRIX)
    arguments = ["run", "matrix.yaml", "--launcher", "process"]
    place.kill_at(moment, *arguments)
    done = place.do("run", "--resume", "last")
    assert done.returncode == 0, done.stderr
    assert_nothing_left(place)
    assert place.ask("SELECT status, correct FROM benchmark_results") == [
        {"status": "ok", "correct": True}
    ]


@pytest.fixture
def engine_client() -> Iterator[DockerClient]:
    """The engine."""
    with closing(connect_engine()) as client:
        yield client


@pytest.mark.engine
@table(BUILDS)
def test_a_run_killed_while_an_image_is_built_builds_it_again(
    containers: FailingPlace, engine_client: DockerClient, moment: Failpoint
) -> None:
    containers.environment["ACCELMATRIX_REGISTRY"] = registry = "faults.invalid/nobody"
    containers.write_matrix(batch_sizes=[1])
    try:
        containers.kill_at(moment, *containers.run_arguments())
        containers.finish()
    finally:
        settings = ImageSettings(registry=registry)
        with suppress(ImageNotFound):
            engine_client.images.remove(settings.reference(image_name("fake")), force=True)
