"""What tests share: a screen; a real engine's client, and an image that executes any script."""

import io
import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from orchestrator.running.folder import RunFolder
from orchestrator.store.merge.report import MergeReport, MissingVerdicts
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


class Screen:
    """Prints for people or for programs, and reads what was printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def lines(self, show: Callable[..., None], *values: Any) -> list[str]:
        """The lines that people get, without the blanks at their ends."""
        show(*values, as_json=False)
        return self.printed()

    def words(self, show: Callable[..., None], *values: Any) -> list[list[str]]:
        """The words of each line that people get."""
        return [line.split() for line in self.lines(show, *values)]

    def data(self, show: Callable[..., None], *values: Any) -> Any:
        """The JSON that programs get."""
        show(*values, as_json=True)
        return json.loads(self._capsys.readouterr().out)

    def printed(self) -> list[str]:
        """The lines that were printed since the last look."""
        return [line.rstrip() for line in self._capsys.readouterr().out.splitlines()]


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capsys)


def count_verdicts(folder: RunFolder, database: Path, then: object = None) -> MergeReport:
    """The report of a merge that is not made."""
    verdicts = folder.verdicts()
    cells = tuple(cell.id for cell in folder.cells if cell.id not in verdicts)
    missing = (MissingVerdicts(folder.run.run_id, len(folder.cells), cells),) if cells else ()
    return MergeReport(inserted=len(verdicts), missing=missing)


@pytest.fixture
def database() -> None:
    """A test that asks for it has its records merged into a database, which takes a while."""


@pytest.fixture
def unmerged(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests about launches and the records that they leave merge nothing."""
    if "database" not in request.fixturenames:
        for module in ("execution", "interleaved", "outcome"):
            monkeypatch.setattr(f"orchestrator.running.{module}.merge_run", count_verdicts)
