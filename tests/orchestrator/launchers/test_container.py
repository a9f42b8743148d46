"""Containers as data: options, devices, labels and mounts."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Task
from orchestrator.launchers.container import (
    OWNER_LABEL,
    EngineFacts,
    NodeGroups,
    command,
    container_environment,
    device_options,
    host_options,
    ignored_options,
    is_orphan,
    labels,
    occupies,
    owner_id,
)
from orchestrator.launchers.job_user import JobUser
from orchestrator.system.weights import revision_of
from runner.contract.axes import Backend
from runner.contract.errors import Unavailable
from runner.contract.job import Limits
from tests.support.jobs import a_job, fake_cell
from tests.support.weights import a_weights_folder
from tests.support.words import raises_words

GIB = 1 << 30
CALLER = JobUser(1000, 1000)
ENGINE = EngineFacts(
    memory_bytes=16 * GIB, cpus=1000, limits_cpus=True, limits_swap=True, user=CALLER
)
MAPPED = replace(ENGINE, user=replace(CALLER, userns_mode="host"))
WITHOUT_SWAP = replace(ENGINE, limits_swap=False)


def cpu_task(**limits: Any) -> Task:
    job = a_job([fake_cell(backend="cpu", runtime="torch")], limits=Limits(**limits))
    return Task(job, "cpu", Path("job.json"), Path("out"))


@pytest.mark.parametrize(
    ("limits", "engine", "options"),
    [
        ({"memory_bytes": GIB}, ENGINE, {"mem_limit": GIB, "memswap_limit": GIB}),
        ({"memory_bytes": GIB}, WITHOUT_SWAP, {"mem_limit": GIB, "memswap_limit": None}),
        ({}, ENGINE, {"mem_limit": 15 * GIB, "nano_cpus": None}),
        ({"cpus": 2}, ENGINE, {"cpuset_cpus": "998,999", "userns_mode": None}),
        ({"cpus": 2}, replace(ENGINE, limits_cpus=False), {"cpuset_cpus": None}),
        ({}, MAPPED, {"userns_mode": "host"}),
    ],
    ids=[
        "no-way-around-by-swap",
        "swap-cannot-be-limited",
        "margin-for-the-host",
        "cpus",
        "no-cpuset",
        "ids",
    ],
)
def test_limits_become_options(
    limits: dict[str, Any], engine: EngineFacts, options: dict[str, Any]
) -> None:
    actual = host_options(cpu_task(**limits), engine)
    assert {name: actual.get(name) for name in options} == options


@pytest.mark.parametrize(
    ("backend", "variable", "seen"),
    [
        ("openvino", "openvino=GPU.1", True),
        ("openvino", "", False),
        ("rocm", "1", True),
        ("cuda", "1", False),  # the container sees that GPU alone, whose index is then another
    ],
)
def test_a_container_sees_the_chosen_device(backend: Backend, variable: str, seen: bool) -> None:
    ours = {"HOME": "/root", "ACCELMATRIX_DEVICE": variable}
    expected = {"ACCELMATRIX_DEVICE": variable} if seen else {}
    assert container_environment(replace(cpu_task(), backend=backend), ours) == expected


def test_a_container_sees_the_variables_that_were_named() -> None:
    task = cpu_task()
    named = replace(task, job=task.job.model_copy(update={"inherit_environ": ("OMP_A",)}))
    ours = {"OMP_A": "1", "OMP_B": "2"}
    assert container_environment(named, ours) == {"OMP_A": "1"}
    assert container_environment(task, ours) == {}


def test_what_torch_compile_has_built_can_be_loaded_from_tmp() -> None:
    assert "exec" in host_options(cpu_task(), ENGINE)["tmpfs"]["/tmp"].split(",")


def test_mounts_are_absolute_and_the_job_is_read_only() -> None:
    job, out = host_options(cpu_task(), ENGINE)["mounts"]
    assert (job["Target"], job["ReadOnly"]) == ("/in/job.json", True)
    assert (out["Target"], out["ReadOnly"]) == ("/out", False)
    assert Path(job["Source"]).is_absolute()


def with_own_weights(task: Task, folder: Path) -> Task:
    own = {"path": str(folder), "revision": revision_of(folder)}
    model = task.job.model.model_copy(update=own)
    return replace(task, job=task.job.model_copy(update={"model": model}))


def test_weights_are_mounted_for_reading_alone(tmp_path: Path) -> None:
    task = with_own_weights(cpu_task(), a_weights_folder(tmp_path / "weights"))
    mount = host_options(task, ENGINE)["mounts"][2]
    assert (mount["Target"], mount["ReadOnly"]) == ("/weights", True)
    assert Path(mount["Source"]).is_absolute()
    assert command(task)[-2:] == ["--weights", "/weights"]
    assert command(cpu_task()) == ["--job", "/in/job.json", "--out", "/out"]


@pytest.mark.parametrize(
    ("name", "field", "own"),
    [
        ("references", "reference", ["mine.npz"]),
        ("references", "reference", ["mine.failed"]),
        ("graphs", "graph", ["mine"]),
        ("graphs", "graph", []),
    ],
)
def test_of_artifacts_a_job_sees_its_own_alone(
    tmp_path: Path, name: str, field: str, own: list[str]
) -> None:
    for file in (*own, "another", "another.npz", "mine2"):
        (tmp_path / file).mkdir()
    (tmp_path / "elsewhere").symlink_to("/etc")
    task = replace(cpu_task(), **{name: tmp_path})
    for key in ("mine", "elsewhere"):
        named = replace(task, job=task.job.model_copy(update={field: key}))
        mounts = host_options(named, ENGINE)["mounts"][2:]
        seen = [(mount["Source"], mount["Target"], mount["ReadOnly"]) for mount in mounts]
        expected = own if key == "mine" else []
        assert seen == [(str(tmp_path / file), f"/{name}/{file}", True) for file in expected]
        assert command(named)[-2:] == [f"--{name}", f"/{name}"]
    assert host_options(task, ENGINE)["mounts"][2:] == []


def test_links_of_a_hubs_cache_lead_somewhere_inside_the_container(tmp_path: Path) -> None:
    repository = tmp_path / "models--some--model"
    snapshot = a_weights_folder(repository / "snapshots/abc")
    task = with_own_weights(cpu_task(), snapshot)
    mount = host_options(task, ENGINE)["mounts"][2]
    assert (mount["Source"], mount["Target"]) == (str(repository.resolve()), "/weights")
    assert command(task)[-2:] == ["--weights", "/weights/snapshots/abc"]


def test_weights_that_are_gone_or_changed_are_not_launched(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "weights")
    task = with_own_weights(cpu_task(), folder)
    (weights,) = folder.glob("*.safetensors")
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with raises_words(Unavailable, match="were planned"):
        task.staged()


def test_labels_tell_the_owner_and_the_devices() -> None:
    found = labels(cpu_task(), "here")
    assert found["org.accelmatrix.run_id"] == "20260101-000000-test"
    assert found["org.accelmatrix.job_id"] == "cpu-scripted-fp32-inference"
    assert found["org.accelmatrix.host"] == "here"
    assert occupies(found, frozenset({"cpu", "nvidia"}))
    assert not occupies(found, frozenset({"nvidia"}))
    assert not occupies({}, frozenset({"cpu"}))


@pytest.mark.parametrize(
    ("requested", "actual", "ignored"),
    [
        ({"Memory": 5}, {"Memory": 5, "More": 1}, []),
        ({"Mounts": [{"Target": "/in", "ReadOnly": False}]}, {"Mounts": [{"Target": "/in"}]}, []),
        ({"Devices": []}, {"Devices": None}, []),
        ({"Memory": 5}, {"Memory": 0}, ["Memory"]),
        ({"PidsLimit": 5}, {}, ["PidsLimit"]),
        ({"Devices": [{"Path": "/dev/kfd"}]}, {"Devices": [{"Path": "/dev/dri"}]}, ["Devices"]),
    ],
)
def test_options_that_the_engine_did_not_take_over(
    requested: dict[str, Any], actual: dict[str, Any], ignored: list[str]
) -> None:
    assert ignored_options(requested, actual) == ignored


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


AMD = {"/dev/kfd": {105}, "/dev/dri": {44, 105}}
INTEL = {"/dev/accel": {992}, "/dev/dri": {44}}
HTP = {"/dev/fastrpc-cdsp": {989}, "/dev/fastrpc-cdsp-secure": set[int](), "/dev/null": {1}}


def machine_with(nodes: Mapping[str, set[int]]) -> NodeGroups:
    return lambda node: frozenset(nodes[node]) if node in nodes else None


def options_of(
    backend: Backend, nodes: Mapping[str, set[int]] | None = None, chosen: str | None = None
) -> dict[str, Any]:
    return device_options(CATALOGUE[backend].device, machine_with(nodes or {}), chosen)


@pytest.mark.parametrize(
    ("chosen", "request_"),
    [
        (None, {"Count": -1, "Capabilities": [["gpu"]]}),
        ("1", {"DeviceIDs": ["1"], "Capabilities": [["gpu"]]}),
        ("GPU-5e1b2c0a", {"DeviceIDs": ["GPU-5e1b2c0a"], "Capabilities": [["gpu"]]}),
    ],
)
def test_cuda_asks_for_every_nvidia_gpu_or_the_chosen_one(
    chosen: str | None, request_: dict[str, Any]
) -> None:
    assert options_of("cuda", chosen=chosen) == {"device_requests": [request_]}


@pytest.mark.parametrize(
    ("backend", "nodes", "devices", "groups"),
    [
        ("cpu", AMD | INTEL, [], []),
        ("rocm", AMD, ["/dev/kfd", "/dev/dri"], ["44", "105"]),
        ("rocm", {}, ["/dev/kfd", "/dev/dri"], []),
        ("openvino", INTEL, ["/dev/accel", "/dev/dri"], ["44", "992"]),
        ("openvino", {}, [], []),
        ("qnn", HTP, ["/dev/fastrpc-cdsp", "/dev/fastrpc-cdsp-secure"], ["989"]),
    ],
)
def test_nodes_are_asked_for_with_the_groups_that_own_them_and_optional_ones_where_they_are(
    backend: Backend, nodes: Mapping[str, set[int]], devices: list[str], groups: list[str]
) -> None:
    options = options_of(backend, nodes)
    assert options.get("devices", []) == [f"{node}:{node}:rwm" for node in devices]
    assert options.get("group_add", []) == groups
    assert set(options) <= {"devices", "group_add"}


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("backend", "nodes", "chosen"), [("cuda", {}, "1"), ("rocm", AMD, None)])
def test_the_engine_takes_over_what_is_asked(
    client: DockerClient,
    script_image: str,
    backend: Backend,
    nodes: Mapping[str, set[int]],
    chosen: str | None,
) -> None:
    options = options_of(backend, nodes, chosen)
    asked = client.api.create_host_config(**options)
    container = client.api.create_container(script_image, host_config=asked)["Id"]
    try:
        found = client.api.inspect_container(container)["HostConfig"]
    finally:
        client.api.remove_container(container)
    assert ignored_options(asked, found) == []
    assert len(found["Devices"] or []) == len(options.get("devices", []))
    if backend == "cuda":
        (request,) = found["DeviceRequests"]
        asked_for = (-1, None) if chosen is None else (0, ["1"])
        assert (request["Count"], request["DeviceIDs"] or None) == asked_for
        assert request["Capabilities"] == [["gpu"]]
