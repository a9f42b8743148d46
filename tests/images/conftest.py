"""The image that users get."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.engine import connect
from orchestrator.images import Image, ImageSettings, Shelf


@pytest.fixture(scope="session")
def built_cpu_image(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The cpu image of this checkout, built if the one at hand is stale."""
    logs: Path = tmp_path_factory.mktemp("logs")
    client = connect()
    settings = replace(ImageSettings.from_environment(), logs=logs)
    yield Shelf(client, settings).ensure("cpu")
    client.close()
