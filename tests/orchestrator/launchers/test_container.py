import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.backends.machine import default_memory_bytes
from orchestrator.launchers.base import Task
from orchestrator.launchers.container import (
    OWNER_LABEL,
    EngineFacts,
    command,
    container_environment,
    container_name,
    host_id,
    host_options,
    ignored_options,
    is_orphan,
    labels,
    occupies,
    owner_id,
)
from orchestrator.system.weights import revision
from runner.contract.errors import Unavailable
from runner.contract.job import Limits
from tests.support.jobs import a_job, fake_cell
from tests.support.weights import a_weights_folder

GIB = 1 << 30
ENGINE = EngineFacts(memory_bytes=16 * GIB, limits_swap=True)


def cpu_task(**limits: Any) -> Task:
    job = a_job([fake_cell(backend="cpu", runtime="torch")], limits=Limits(**limits))
    return Task(job, "cpu", Path("job.json"), Path("out"))


def test_swap_is_no_way_around_the_memory_limit() -> None:
    options = host_options(cpu_task(memory_bytes=GIB), ENGINE)
    assert options["mem_limit"] == options["memswap_limit"] == GIB


def test_an_engine_that_cannot_limit_swap_is_not_asked_to() -> None:
    options = host_options(cpu_task(), EngineFacts(GIB, limits_swap=False))
    assert "memswap_limit" not in options


def test_without_a_limit_the_host_keeps_a_margin() -> None:
    assert host_options(cpu_task(), ENGINE)["mem_limit"] == 15 * GIB


@given(st.integers(min_value=1 << 26, max_value=1 << 44))
def test_the_margin_leaves_the_job_at_least_half(total: int) -> None:
    assert total // 2 <= default_memory_bytes(total) < total


def test_of_the_hosts_environment_a_container_gets_the_chosen_device_alone() -> None:
    ours = {"HOME": "/root", "ACCELMATRIX_DEVICE": "openvino=GPU.1"}
    assert container_environment("openvino", ours) == {"ACCELMATRIX_DEVICE": "openvino=GPU.1"}
    assert container_environment("openvino", {"HOME": "/root", "ACCELMATRIX_DEVICE": ""}) == {}


def test_a_container_that_sees_one_gpu_alone_is_not_told_its_index_outside() -> None:
    assert container_environment("cuda", {"ACCELMATRIX_DEVICE": "1"}) == {}
    assert container_environment("rocm", {"ACCELMATRIX_DEVICE": "1"}) == {"ACCELMATRIX_DEVICE": "1"}


def test_what_torch_compile_has_built_can_be_loaded_from_tmp() -> None:
    assert "exec" in host_options(cpu_task(), ENGINE)["tmpfs"]["/tmp"].split(",")


def test_cpus_are_limited_only_if_the_plan_says_so() -> None:
    assert "nano_cpus" not in host_options(cpu_task(), ENGINE)
    assert host_options(cpu_task(cpus=1.5), ENGINE)["nano_cpus"] == 1_500_000_000


def test_mounts_are_absolute_and_the_job_is_read_only() -> None:
    job, out = host_options(cpu_task(), ENGINE)["mounts"]
    assert (job["Target"], job["ReadOnly"]) == ("/in/job.json", True)
    assert (out["Target"], out["ReadOnly"]) == ("/out", False)
    assert Path(job["Source"]).is_absolute()


def with_own_weights(task: Task, folder: Path) -> Task:
    own = {"path": str(folder), "revision": revision(folder)}
    model = task.job.model.model_copy(update=own)
    return replace(task, job=task.job.model_copy(update={"model": model}))


@pytest.mark.parametrize("name", ["references", "graphs", "weights"])
def test_what_the_runner_reads_is_mounted_for_reading_if_there_is_any(
    name: str, tmp_path: Path
) -> None:
    if name == "weights":
        task = with_own_weights(cpu_task(), a_weights_folder(tmp_path / name))
    else:
        task = replace(cpu_task(), **{name: Path(name)})
    mount = host_options(task, ENGINE)["mounts"][2]
    assert (mount["Target"], mount["ReadOnly"]) == (f"/{name}", True)
    assert Path(mount["Source"]).is_absolute()
    assert command(task)[-2:] == [f"--{name}", f"/{name}"]
    assert command(cpu_task()) == ["--job", "/in/job.json", "--out", "/out"]


def test_weights_that_are_gone_or_changed_are_not_launched(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "weights")
    task = with_own_weights(cpu_task(), folder)
    next(folder.glob("*.safetensors")).write_bytes(b"other weights")
    with pytest.raises(Unavailable, match="were planned"):
        task.staged()


def test_labels_tell_the_owner_and_the_devices() -> None:
    found = labels(cpu_task(), "here")
    assert found["org.accelmatrix.run_id"] == "20260101-000000-test"
    assert found["org.accelmatrix.job_id"] == "cpu-scripted-fp32-inference"
    assert found["org.accelmatrix.host"] == "here"
    assert occupies(found, frozenset({"cpu", "nvidia"}))
    assert not occupies(found, frozenset({"nvidia"}))
    assert not occupies({}, frozenset({"cpu"}))


def test_names_are_valid_and_never_repeat() -> None:
    task = cpu_task()
    assert container_name(task) != container_name(task)
    strange = replace(task, job=task.job.model_copy(update={"run_id": "ä b/c", "id": "x:y"}))
    assert container_name(strange).startswith("accelmatrix---b-c-x-y-")


def test_the_host_id_is_stable_and_differs_by_machine(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "b").write_text("b\n")
    assert host_id(tmp_path / "a") == host_id(tmp_path / "a") != host_id(tmp_path / "b")
    assert host_id(tmp_path / "missing") == host_id(tmp_path / "missing")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"Memory": 5}, {"Memory": 5, "More": 1}),
        ({"Mounts": [{"Target": "/in", "ReadOnly": False}]}, {"Mounts": [{"Target": "/in"}]}),
        ({"Devices": []}, {"Devices": None}),
        ({"Tmpfs": {"/tmp": "rw"}}, {"Tmpfs": {"/tmp": "rw"}}),
    ],
)
def test_what_the_engine_took_over(asked: dict[str, Any], found: dict[str, Any]) -> None:
    assert ignored_options(asked, found) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"Memory": 5}, {"Memory": 0}),
        ({"PidsLimit": 5}, {"PidsLimit": None}),
        ({"PidsLimit": 5}, {}),
        ({"CapDrop": ["ALL"]}, {"CapDrop": None}),
        ({"ReadonlyRootfs": True}, {"ReadonlyRootfs": False}),
        ({"Tmpfs": {"/tmp": "rw"}}, {"Tmpfs": None}),
        ({"Devices": [{"PathOnHost": "/dev/kfd"}]}, {"Devices": [{"PathOnHost": "/dev/dri"}]}),
    ],
)
def test_what_the_engine_ignored_options(asked: dict[str, Any], found: dict[str, Any]) -> None:
    assert ignored_options(asked, found) == list(asked)


def test_a_container_is_an_orphan_unless_another_living_process_owns_it() -> None:
    another = subprocess.Popen(["sleep", "60"])
    alive = owner_id(another.pid)
    assert not is_orphan({OWNER_LABEL: alive})
    assert is_orphan({OWNER_LABEL: f"{another.pid}@1.00"})
    another.kill()
    another.wait()
    assert is_orphan({OWNER_LABEL: alive})
    assert is_orphan({OWNER_LABEL: owner_id(os.getpid())})
    assert is_orphan({})
