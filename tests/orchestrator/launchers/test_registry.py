"""The choice of a launcher, and its preview in a plan."""

from pathlib import Path

import pytest

from orchestrator.launchers.registry import NO_ENGINE, choose_launcher, preview_launcher
from runner.contract.errors import EngineUnavailable


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens where the engine should be."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_jobs_run_as_processes_unless_containers_were_asked_for() -> None:
    notes: list[str] = []
    assert choose_launcher("auto", notes.append) == "process"
    assert notes == [NO_ENGINE]
    assert choose_launcher("process", notes.append) == "process"
    with pytest.raises(EngineUnavailable):
        choose_launcher("docker", notes.append)


@pytest.mark.usefixtures("no_engine")
def test_a_preview_needs_no_engine() -> None:
    names = [preview_launcher(requested).name for requested in ("auto", "process", "docker")]
    assert names == ["process", "process", "docker"]
