"""A browser without a GPU: verified, timed if asked, and shown only to who asks."""

import json

import pytest

from orchestrator.backends.machine import this_machine
from tests.support.needs import lacking
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.serial]
MATRIX = """
version: 1
axes: {model: bert-micro, backend: webgpu, batch_size: 1, sequence_length: 16}
measure:
  {profile: quick, iterations: 3, min_duration: 0s, max_duration: 2s, warmup_max_duration: 1s}
"""
SHOWN = "SELECT status, software_device, hardware FROM {} ORDER BY run_id"


@pytest.fixture
def user(user: Workplace) -> Workplace:
    """A user's folder on a machine with a browser and without a GPU."""
    browser = pytest.importorskip("runner.backends.onnxruntime_web.browser")
    if not browser.OWN_BROWSER.is_file():
        lacking("no browser: `make browser`")
    if "webgpu" not in this_machine().unavailable:
        lacking("a machine without a GPU")
    (user.folder / "matrix.yaml").write_text(MATRIX)
    user.environment["ACCELMATRIX_BROWSER"] = str(browser.OWN_BROWSER)
    return user


def rows(user: Workplace, view: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in user.ask(SHOWN.format(view))]


def test_a_software_adapter_is_verified_and_timed_only_if_asked(user: Workplace) -> None:
    run = ("run", "matrix.yaml", "--launcher", "process")
    verified = user.do(
        "verify",
        "--models",
        "bert-micro",
        "--backends",
        "webgpu",
        *run[2:],
        "--select",
        "*-fp32-*-inference",
    )
    assert verified.returncode == 0, verified.stderr
    assert "webgpu: the software adapter in the device's place" in verified.stdout
    assert "the software adapter's time says nothing" in user.do(*run).stderr
    user.environment["ACCELMATRIX_DEVICE"] = "webgpu=software"
    timed = user.do(*run)
    assert timed.returncode == 0, timed.stderr
    assert rows(user, "benchmark_performance") == rows(user, "latest_results") == []
    ok = [row for row in rows(user, "benchmark_performance_all") if row[0] == "ok"]
    assert len(ok) == 2
    assert all(software and str(name).startswith("SwiftShader (") for _, software, name in ok)

    chosen = user.environment.pop("ACCELMATRIX_BROWSER")
    replayed = user.do("replay", "last/webgpu-bert-micro-fp32-b1-s16-inference")
    assert replayed.returncode == 0, replayed.stderr
    jobs = user.ask("SELECT job FROM replay_jobs ORDER BY result_id DESC LIMIT 1")
    assert json.loads(jobs[0]["job"])["browser"]["name"].removeprefix("~") in chosen
