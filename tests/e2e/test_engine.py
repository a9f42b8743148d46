"""Runs whose engine or image fails them."""

from pathlib import Path

import pytest

from orchestrator.images import Image
from tests.support.proxy import EngineProxy
from tests.support.workplace import Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A user's folder."""
    return Workplace(tmp_path, "docker")


def test_without_an_engine_auto_says_so_in_one_line_and_runs_processes(place: Workplace) -> None:
    place.environment["DOCKER_HOST"] = f"unix://{place.folder}/no-engine.sock"
    place.launcher = "auto"
    place.write_matrix()
    done = place.run()
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "engine" in line]
    assert lines == ["no container engine answers: jobs run as local processes"]
    assert place.has_one_verdict_each()


def test_asking_for_containers_without_an_engine_is_refused(place: Workplace) -> None:
    place.environment["DOCKER_HOST"] = f"unix://{place.folder}/no-engine.sock"
    place.write_matrix()
    done = place.run()
    assert done.returncode == 4
    assert "no container engine answers" in done.stderr
    assert "hint:" in done.stderr
    assert not (place.folder / "results").exists()


@pytest.mark.engine
def test_an_engine_that_goes_away_in_mid_run_costs_no_verdict(
    place: Workplace, proxy: EngineProxy, cpu_image: Image
) -> None:
    place.environment["DOCKER_HOST"] = f"unix://{proxy.path}"
    place.write_matrix({"*scripted-1-*-b2-*": "hang"}, models=2)
    process = place.start(*place.run_arguments())
    wait_until(lambda: place.is_hanging("scripted-1"), "the hang")
    proxy.cut()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 4, stderr
    assert "went away" in stderr
    assert [name for name, status in place.verdicts().items() if status == "lost"] == [
        "fake-scripted-1-fp32-b2-s8-inference"
    ]
    assert set(place.verdicts().values()) <= {"lost", "ok", "unavailable"}
    assert place.has_one_verdict_each()
    assert len(place.containers()) == 1
    place.heal()
    del place.environment["DOCKER_HOST"]
    resumed = place.resume()
    assert resumed.returncode == 0, resumed.stderr
    assert set(place.verdicts().values()) == {"ok"}
    assert place.has_one_verdict_each()
    assert place.containers() == []


@pytest.mark.engine
def test_an_image_that_cannot_be_had_leaves_verdicts_and_resuming_measures(
    place: Workplace, cpu_image: Image
) -> None:
    place.environment |= {
        "ACCELMATRIX_REGISTRY": "nowhere.invalid/nobody",
        "ACCELMATRIX_BASE_IMAGE": "no-such-base:0",
    }
    place.write_matrix()
    done = place.run()
    assert done.returncode == 5, done.stderr
    assert "nowhere.invalid/nobody/accelmatrix-cpu" in done.stderr
    assert set(place.verdicts().values()) == {"unavailable"}
    assert place.has_one_verdict_each()
    place.environment.clear()
    assert place.resume().returncode == 0
    assert set(place.verdicts().values()) == {"ok"}
