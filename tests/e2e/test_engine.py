"""Runs whose engine or image fails them."""

from pathlib import Path

import pytest

from orchestrator.images import Image
from tests.support.proxy import EngineProxy
from tests.support.workplace import Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]


@pytest.fixture
def process_workplace(tmp_path: Path) -> Workplace:
    """A user's folder."""
    return Workplace(tmp_path, "docker")


def test_without_an_engine_auto_says_so_in_one_line_and_runs_processes(
    process_workplace: Workplace,
) -> None:
    process_workplace.environment["DOCKER_HOST"] = (
        f"unix://{process_workplace.folder}/no-engine.sock"
    )
    process_workplace.launcher = "auto"
    process_workplace.write_matrix()
    done = process_workplace.run()
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "engine" in line]
    assert lines == ["no container engine answers: jobs run as local processes"]
    assert process_workplace.has_one_verdict_each()


def test_asking_for_containers_without_an_engine_is_refused(process_workplace: Workplace) -> None:
    process_workplace.environment["DOCKER_HOST"] = (
        f"unix://{process_workplace.folder}/no-engine.sock"
    )
    process_workplace.write_matrix()
    done = process_workplace.run()
    assert done.returncode == 4
    assert "no container engine answers" in done.stderr
    assert "hint:" in done.stderr
    assert not (process_workplace.folder / "results").exists()


@pytest.mark.engine
def test_an_engine_that_goes_away_in_mid_run_costs_no_verdict(
    process_workplace: Workplace, proxy: EngineProxy, cpu_image: Image
) -> None:
    process_workplace.environment["DOCKER_HOST"] = f"unix://{proxy.path}"
    process_workplace.write_matrix({"*scripted-1-*-b2-*": "hang"}, models=2)
    process = process_workplace.start(*process_workplace.run_arguments())
    wait_until(lambda: process_workplace.is_hanging("scripted-1"), "the hang")
    proxy.cut()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 4, stderr
    assert "went away" in stderr
    assert [name for name, status in process_workplace.verdicts().items() if status == "lost"] == [
        "fake-scripted-1-fp32-b2-s8-inference"
    ]
    assert set(process_workplace.verdicts().values()) <= {"lost", "ok", "unavailable"}
    assert process_workplace.has_one_verdict_each()
    assert len(process_workplace.containers()) == 1
    process_workplace.heal()
    del process_workplace.environment["DOCKER_HOST"]
    resumed = process_workplace.resume()
    assert resumed.returncode == 0, resumed.stderr
    assert set(process_workplace.verdicts().values()) == {"ok"}
    assert process_workplace.has_one_verdict_each()
    assert process_workplace.containers() == []


@pytest.mark.engine
def test_an_image_that_cannot_be_had_leaves_verdicts_and_resuming_measures(
    process_workplace: Workplace, cpu_image: Image
) -> None:
    process_workplace.environment |= {
        "ACCELMATRIX_REGISTRY": "nowhere.invalid/nobody",
        "ACCELMATRIX_BASE_IMAGE": "no-such-base:0",
    }
    process_workplace.write_matrix()
    done = process_workplace.run()
    assert done.returncode == 5, done.stderr
    assert "nowhere.invalid/nobody/accelmatrix-cpu" in done.stderr
    assert set(process_workplace.verdicts().values()) == {"unavailable"}
    assert process_workplace.has_one_verdict_each()
    process_workplace.environment.clear()
    assert process_workplace.resume().returncode == 0
    assert set(process_workplace.verdicts().values()) == {"ok"}
