"""An engine that is restarted in mid-run, and containers that others end: one verdict per cell."""

import subprocess
import time

import pytest

from tests.faults.place import FailingPlace
from tests.support.nothing_left import assert_nothing_left
from tests.support.proxy import EngineProxy
from tests.support.workplace import wait_until

pytestmark = [pytest.mark.serial, pytest.mark.engine, pytest.mark.nightly]

VICTIM = "fake-scripted-1-fp32-b2-s8-inference"
ENDINGS = {
    "docker kill": ("kill",),
    "docker kill --signal TERM": ("kill", "--signal", "TERM"),
    "docker rm --force": ("rm", "--force"),
    "docker stop": ("stop", "--time", "0"),
}


def docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=False, capture_output=True)


@pytest.mark.parametrize("away_s", [0.5, 3.0])
def test_an_engine_that_is_restarted_in_mid_run_costs_the_running_cell(
    containers: FailingPlace, proxy: EngineProxy, away_s: float
) -> None:
    containers.environment["DOCKER_HOST"] = f"unix://{proxy.path}"
    containers.write_matrix({"*scripted-1-*-b2-*": "hang"}, models=2)
    process = containers.start(*containers.run_arguments())
    wait_until(lambda: containers.is_visiting(VICTIM), "the hang")
    proxy.cut()
    docker("kill", *containers.containers())
    time.sleep(away_s)
    proxy.come_back()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    assert "the container engine is back" in stderr
    lost = [name for name, status in containers.verdicts().items() if status == "lost"]
    assert lost == [VICTIM]
    assert_nothing_left(containers)
    containers.heal()
    containers.finish()
    assert set(containers.verdicts().values()) == {"ok"}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_container_that_somebody_ends_costs_its_running_cell(
    containers: FailingPlace, ending: tuple[str, ...]
) -> None:
    containers.write_matrix({"*scripted-1-*-b2-*": "hang"}, models=2)
    process = containers.start(*containers.run_arguments())
    wait_until(lambda: containers.is_visiting(VICTIM), "the hang")
    docker(*ending, *containers.containers())
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    assert sorted(containers.verdicts().values()) == ["lost", *["ok"] * 5]
    assert_nothing_left(containers)
    containers.heal()
    containers.finish()
