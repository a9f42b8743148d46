"""Runs whose engine or image fails them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.images.image import Image
from orchestrator.running.execute_job import Availability
from tests.support.proxy import EngineProxy
from tests.support.workplace import Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]

VICTIM = "fake-scripted-1-fp32-b2-s8-inference"


@pytest.fixture
def user(tmp_path: Path) -> Workplace:
    """A user's folder."""
    return Workplace(tmp_path, "docker")


def test_without_an_engine_auto_runs_processes_and_containers_are_refused(user: Workplace) -> None:
    user.environment["DOCKER_HOST"] = f"unix://{user.folder}/none.sock"
    user.write_matrix()
    refused = user.run()
    assert refused.returncode == 4
    assert "no container engine answers" in refused.stderr
    assert "hint:" in refused.stderr
    assert not (user.folder / "results").exists()
    user.launcher = "auto"
    done = user.run()
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "engine" in line]
    assert lines == ["no container engine answers: jobs run as local processes"]
    assert user.has_one_verdict_each()


@pytest.mark.engine
def test_an_engine_that_goes_away_in_mid_run_costs_no_verdict(
    user: Workplace, proxy: EngineProxy, cpu_image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = Availability.comes_back
    monkeypatch.setattr(Availability, "comes_back", lambda *run: waits(*run[:2], patience_s=1.0))
    user.environment["DOCKER_HOST"] = f"unix://{proxy.path}"
    user.write_matrix({"*scripted-1-*-b2-*": "hang"}, models=2)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(wait_until, lambda: user.is_visiting(VICTIM), "the hang")
        running.add_done_callback(lambda _: proxy.cut())
        done = user.run()
    assert done.returncode == 4, done.stderr
    assert "went away" in done.stderr
    assert [name for name, status in user.verdicts().items() if status == "lost"] == [VICTIM]
    assert set(user.verdicts().values()) <= {"lost", "ok", "unavailable"}
    assert user.has_one_verdict_each()
    assert len(user.containers()) == 1
    user.heal()
    del user.environment["DOCKER_HOST"]
    resumed = user.resume()
    assert resumed.returncode == 0, resumed.stderr
    user.check("ok")


@pytest.mark.engine
def test_an_image_that_cannot_be_had_leaves_verdicts_and_resuming_measures(
    user: Workplace, cpu_image: Image
) -> None:
    user.environment |= {
        "ACCELMATRIX_REGISTRY": "nowhere.invalid/nobody",
        "ACCELMATRIX_BASE_IMAGE": "no-such-base:0",
    }
    user.write_matrix()
    done = user.run()
    assert done.returncode == 5, done.stderr
    assert "nowhere.invalid/nobody/accelmatrix-cpu" in done.stderr
    user.check("unavailable")
    user.environment.clear()
    assert user.resume().returncode == 0
    assert set(user.verdicts().values()) == {"ok"}
