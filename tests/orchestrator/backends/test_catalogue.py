from collections.abc import Mapping
from typing import Any, get_args

import pytest
from docker import DockerClient

from orchestrator.backends.catalogue import (
    DEVICES,
    NodeGroups,
    device_options,
    host_node_groups,
    image_names,
)
from orchestrator.launchers.container import ignored
from runner.contract.cell import Backend

AMD = {"/dev/kfd": {105}, "/dev/dri": {44, 105}}
INTEL = {"/dev/accel": {992}, "/dev/dri": {44}}


def machine_with(nodes: Mapping[str, set[int]]) -> NodeGroups:
    return lambda node: frozenset(nodes[node]) if node in nodes else None


def test_every_backend_has_its_row() -> None:
    assert set(DEVICES) == set(get_args(Backend))


def test_browsers_share_an_image_and_fake_is_no_image_of_its_own() -> None:
    assert image_names()["browser"] == ("webnn", "webgpu", "wasm")
    assert image_names()["cpu"] == ("cpu",)
    assert DEVICES["fake"].image == "cpu"


def test_mps_is_for_processes_alone() -> None:
    assert DEVICES["mps"].image is None
    assert DEVICES["mps"].launchers == ("process",)


def test_backends_on_the_same_hardware_share_a_lock() -> None:
    assert DEVICES["cpu"].locks & DEVICES["wasm"].locks & DEVICES["openvino"].locks == {"cpu"}
    assert not DEVICES["cpu"].locks & DEVICES["cuda"].locks
    assert DEVICES["webgpu"].locks >= DEVICES["cuda"].locks


def test_only_what_runs_on_a_cpu_claims_to_be_measured_in_ci() -> None:
    classes = {backend: device.support_class for backend, device in DEVICES.items()}
    assert {backend for backend, support in classes.items() if support == 1} == {"cpu", "openvino"}
    never = {backend for backend, support in classes.items() if support == 3}
    assert never == {"cuda", "rocm", "mps", "qnn"}


def test_runner_labels_name_a_self_hosted_machine() -> None:
    assert all("self-hosted" in device.runner_labels for device in DEVICES.values())


def test_cpu_asks_for_no_device() -> None:
    assert device_options(DEVICES["cpu"]) == {}


def test_cuda_asks_for_every_nvidia_gpu() -> None:
    (request,) = device_options(DEVICES["cuda"])["device_requests"]
    assert request == {"Count": -1, "Capabilities": [["gpu"]]}


@pytest.mark.parametrize("chosen", ["1", "GPU-5e1b2c0a-1b2c-4d5e-8f90-123456789abc"])
def test_of_several_nvidia_gpus_the_chosen_one_alone_is_asked_for(chosen: str) -> None:
    (request,) = device_options(DEVICES["cuda"], chosen=chosen)["device_requests"]
    assert request == {"DeviceIDs": [chosen], "Capabilities": [["gpu"]]}


def test_a_choice_among_others_devices_is_the_runners_business() -> None:
    options = device_options(DEVICES["rocm"], machine_with(AMD), chosen="1")
    assert options == device_options(DEVICES["rocm"], machine_with(AMD))


def test_rocm_gets_its_nodes_and_the_groups_that_own_them() -> None:
    options = device_options(DEVICES["rocm"], machine_with(AMD))
    assert options["devices"] == ["/dev/kfd:/dev/kfd:rwm", "/dev/dri:/dev/dri:rwm"]
    assert options["group_add"] == ["44", "105"]


def test_rocm_insists_on_its_nodes_even_where_they_are_missing() -> None:
    options = device_options(DEVICES["rocm"], machine_with({}))
    assert [device.split(":")[0] for device in options["devices"]] == ["/dev/kfd", "/dev/dri"]


def test_optional_nodes_are_asked_for_where_they_are() -> None:
    assert device_options(DEVICES["openvino"], machine_with({})) == {}
    options = device_options(DEVICES["openvino"], machine_with(INTEL))
    assert options["devices"] == ["/dev/accel:/dev/accel:rwm", "/dev/dri:/dev/dri:rwm"]


def test_qnn_gets_the_fastrpc_nodes_and_their_groups() -> None:
    nodes = {"/dev/fastrpc-cdsp": {989}, "/dev/fastrpc-cdsp-secure": set(), "/dev/null": {1}}
    options = device_options(DEVICES["qnn"], machine_with(nodes))
    names = [device.split(":")[0] for device in options["devices"]]
    assert names == ["/dev/fastrpc-cdsp", "/dev/fastrpc-cdsp-secure"]
    assert options["group_add"] == ["989"]


def test_node_groups_of_this_machine() -> None:
    assert host_node_groups("/dev/null") == frozenset()
    assert host_node_groups("/dev") is not None
    assert host_node_groups("/dev/no-such-node") is None


CASES: Mapping[str, tuple[Any, ...]] = {
    "cuda": (DEVICES["cuda"], machine_with({})),
    "cuda-chosen": (DEVICES["cuda"], machine_with({}), "1"),
    "rocm": (DEVICES["rocm"], machine_with(AMD)),
    "openvino": (DEVICES["openvino"], machine_with(INTEL)),
    "qnn": (DEVICES["qnn"], machine_with(INTEL)),
    "webgpu": (DEVICES["webgpu"], machine_with(INTEL)),
}


@pytest.mark.engine
@pytest.mark.parametrize("backend", CASES)
def test_the_engine_takes_over_what_the_table_asks(
    backend: str, client: DockerClient, script_image: str
) -> None:
    options: dict[str, Any] = device_options(*CASES[backend])
    asked = client.api.create_host_config(**options)
    container = client.api.create_container(script_image, host_config=asked)["Id"]
    try:
        found = client.api.inspect_container(container)["HostConfig"]
    finally:
        client.api.remove_container(container)
    assert ignored(asked, found) == []
    assert len(found["Devices"] or []) == len(options.get("devices", []))
    if backend.startswith("cuda"):
        (request,) = found["DeviceRequests"]
        asked_for = (-1, None) if backend == "cuda" else (0, ["1"])
        assert (request["Count"], request["DeviceIDs"] or None) == asked_for
        assert request["Capabilities"] == [["gpu"]]
