"""What tests with a real engine share: a client, and an image that executes any script."""

import io
import os
import uuid
from collections.abc import Iterator

import pytest
from docker import DockerClient

from orchestrator.system.engine import connect_engine

BASE_IMAGE = os.environ.get("ACCELMATRIX_BASE_IMAGE") or "python:3.11-slim-bookworm"
SCRIPTED = f"""
FROM {BASE_IMAGE}
ENTRYPOINT ["python", "-uc", "exec(open('/in/job.json').read())"]
"""


@pytest.fixture(scope="session")
def client(engine: None) -> Iterator[DockerClient]:
    """A client of the real engine."""
    client = connect_engine()
    yield client
    client.close()


@pytest.fixture(scope="session")
def script_image(client: DockerClient) -> Iterator[str]:
    """The id of an image whose runner executes the job file as Python."""
    tag = f"accelmatrix-trial:{uuid.uuid4().hex}"
    image, _ = client.images.build(fileobj=io.BytesIO(SCRIPTED.encode()), tag=tag, rm=True)
    yield str(image.id)
    client.images.remove(tag, force=True)
