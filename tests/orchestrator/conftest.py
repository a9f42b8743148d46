"""What tests with a real engine share: a client, and an image that executes any script."""

import io
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import DockerClient

from orchestrator.engine import connect
from tests.orchestrator.proxy import EngineProxy

BASE_IMAGE = os.environ.get("ACCELMATRIX_BASE_IMAGE") or "python:3.11-slim-bookworm"
SCRIPTED = f"""
FROM {BASE_IMAGE}
ENTRYPOINT ["python", "-uc", "exec(open('/in/job.json').read())"]
"""


@pytest.fixture(scope="session")
def client(engine: None) -> Iterator[DockerClient]:
    """A client of the real engine."""
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def script_image(client: DockerClient) -> Iterator[str]:
    """The id of an image whose runner executes the job file as Python."""
    tag = f"accelmatrix-trial:{uuid.uuid4().hex}"
    image, _ = client.images.build(fileobj=io.BytesIO(SCRIPTED.encode()), tag=tag, rm=True)
    yield str(image.id)
    client.images.remove(tag, force=True)


@pytest.fixture
def proxy(tmp_path: Path, engine: None) -> Iterator[EngineProxy]:
    """A way to the real engine that can be cut."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with EngineProxy(tmp_path / "p.sock", address.removeprefix("unix://")) as proxy:
        yield proxy
