"""The devices that a backend's container asks the engine for."""

from collections.abc import Mapping
from typing import Any

import pytest
from docker import DockerClient

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.container import NodeGroups, device_options, ignored_options
from runner.contract.cell import Backend

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
