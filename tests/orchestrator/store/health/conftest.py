"""Databases to damage and to tidy."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.store import Run, Store
from tests.orchestrator.store.conftest import Save
from tests.orchestrator.store.health.sound import a_sound_database
from tests.support.records import RECORDED_AT, a_failure, a_record


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody changes it."""
    folder = tmp_path_factory.mktemp("sound")
    a_sound_database(folder / "benchmarks.duckdb", folder)
    return folder / "benchmarks.duckdb"


@pytest.fixture
def two_runs(database: Path, save: Save, results: Path) -> Path:
    """One run on a machine of its own with a model of its own, one that shares its image."""
    image = {"image": "an-image:1", "image_digest": "sha256:aa", "launcher": "docker"}
    save(
        a_record(run_id="old", model="gpt2", model_id="b" * 16, hardware_id="c" * 16, **image),
        a_record(run_id="old", environment_id="e" * 16, graph_sha256="sha256:bb"),
        a_failure("lost", "gone", run_id="old", batch_size=2),
        a_record(run_id="new", recorded_at=RECORDED_AT + timedelta(days=9), **image),
    )
    with Store.open(database) as store:
        store.merge([results], Run(run_id="new", started_at=RECORDED_AT + timedelta(days=8)))
    return database
