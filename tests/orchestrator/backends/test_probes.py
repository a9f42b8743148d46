"""What each backend needs of a machine, looked for on machines that are made up."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import device_lack
from orchestrator.backends.probes import HTP_NODES, Need
from orchestrator.screen.words.reasons import reason_text, remedy_text
from runner.contract.axes import Backend
from runner.contract.errors import EngineUnavailable


@dataclass
class MadeUp:
    """A machine as the test likes it."""

    system: str = "linux"
    machine: str = "x86_64"
    there: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    engine_info: Mapping[str, object] | None = None

    def nodes(self, pattern: str) -> list[str]:
        return [node for node in self.there if fnmatch(node, pattern)]

    def may_use(self, node: str) -> bool:
        return node not in self.forbidden

    def group_of(self, node: str) -> str:
        return "render"

    def version(self, distribution: str) -> str | None:
        return self.versions.get(distribution)

    def ask(self, command: Sequence[str]) -> str | None:
        return self.says.get(command[0].rpartition("/")[2])

    def engine(self) -> Mapping[str, object]:
        if self.engine_info is None:
            raise EngineUnavailable("no engine")
        return self.engine_info


def needs(backend: Backend, host: MadeUp, *, in_container: bool = False) -> list[Need]:
    probe = CATALOGUE[backend].probe
    assert probe
    return list(probe(host, in_container=in_container))


def missing(backend: Backend, host: MadeUp, *, in_container: bool = False) -> list[tuple[str, str]]:
    found = needs(backend, host, in_container=in_container)
    return [(need.kind, need.message) for need in found if not need.ok]


def with_torch(host: MadeUp, version: str) -> MadeUp:
    return replace(host, versions={"torch": version})


SMI = "NVIDIA H100 80GB HBM3, 570.86.15"
GPU = MadeUp(there=("/dev/nvidia0", "/dev/nvidiactl"), says={"nvidia-smi": SMI})
AMD = MadeUp(there=("/dev/kfd", "/dev/dri/renderD128"))
RENDER = "/dev/dri/renderD128"
INTERPRETER = Path(sys.executable).name
SNAPDRAGON = MadeUp(machine="aarch64")


@pytest.mark.parametrize(("backend", "host", "lacks"), [
    ("cuda", with_torch(GPU, "2.13.0+cu128"), []),
    ("cuda", with_torch(GPU, "2.13.0+cpu"), [("library", "torch 2.13.0+cpu is no build for CUDA")]),
    ("cuda", MadeUp(), [("driver", "there is no NVIDIA driver"), ("device", "no /dev/nvidia0")]),
    ("rocm", with_torch(AMD, "2.13.0+rocm7.1"), []),
    ("rocm", with_torch(MadeUp(), "2.13.0+cpu"),
     [("driver", "there is no /dev/kfd"), ("device", "there is no /dev/dri/renderD*"),
      ("library", "torch 2.13.0+cpu is no build for ROCm")]),
    ("rocm", replace(AMD, forbidden=("/dev/kfd",)),
     [("permission", "this user may not use /dev/kfd")]),
    ("mps", MadeUp(), []),  # the launcher says that this is no macOS
    ("openvino", MadeUp(versions={"openvino": "2026.4.1"}),
     [("device", "OpenVINO lists no devices")]),
    ("qnn", SNAPDRAGON, [("device", "there is no /dev/fastrpc-cdsp")]),
    ("qnn", replace(SNAPDRAGON, there=("/dev/fastrpc-cdsp",)), []),
])  # fmt: skip
def test_a_local_process_lacks_exactly_what_is_not_there(
    backend: Backend, host: MadeUp, lacks: list[tuple[str, str]]
) -> None:
    assert missing(backend, host) == lacks


@pytest.mark.parametrize(("info", "lacks"), [
    ({"Runtimes": {"runc": {}, "nvidia": {}}}, []),
    ({"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}, []),
    ({"Runtimes": {"runc": {}}}, [("engine", "the engine cannot hand GPUs to containers")]),
], ids=["runtime", "cdi", "neither"])  # fmt: skip
def test_containers_get_gpus_by_a_runtime_or_by_cdi(
    info: dict[str, object], lacks: list[tuple[str, str]]
) -> None:
    host = replace(GPU, engine_info=info)
    assert missing("cuda", host, in_container=True) == lacks
    remedies = [need.remedy for need in needs("cuda", host, in_container=True) if not need.ok]
    assert all("nvidia-ctk runtime configure" in str(remedy) for remedy in remedies)


@pytest.mark.parametrize(("backend", "host", "in_container", "message"), [
    ("cuda", with_torch(GPU, "2.13.0"), False, SMI),
    ("openvino", MadeUp(there=("/dev/accel/accel0",)), True,
     "the CPU, and what OpenVINO knows of /dev/accel/accel0"),
    ("qnn", MadeUp(), False,
     "the HTP simulator, which tells what is correct and never what is fast"),
    ("webgpu", AMD, False, f"{RENDER}: `doctor --browsers` tries it"),
])  # fmt: skip
def test_what_is_there_is_told(
    backend: Backend, host: MadeUp, in_container: bool, message: str
) -> None:
    first = needs(backend, host, in_container=in_container)[0]
    assert (first.ok, first.message) == (True, message)


def test_a_gpu_that_openvino_may_not_use_is_a_remark_since_the_cpu_computes() -> None:
    host = MadeUp(there=(RENDER,), forbidden=(RENDER,), says={INTERPRETER: "CPU: AMD EPYC"})
    assert missing("openvino", host) == [("permission", f"this user may not use {RENDER}")]
    assert not needs("openvino", host)[-1].needed


@pytest.mark.parametrize("node", HTP_NODES)
def test_every_node_that_qnn_is_found_by_reaches_containers(node: str) -> None:
    (need,) = needs("qnn", replace(SNAPDRAGON, there=(node,)), in_container=True)
    assert (need.ok, need.message) == (True, node)
    assert node in CATALOGUE["qnn"].device.optional_nodes


def test_qnn_by_process_needs_one_node_that_this_user_may_use() -> None:
    plain, secure = HTP_NODES[:2]
    one = replace(SNAPDRAGON, there=(plain, secure), forbidden=(secure,))
    assert missing("qnn", one) == [("permission", f"this user may not use {secure}")]
    assert not needs("qnn", one)[-1].needed
    none = replace(one, forbidden=(plain, secure))
    assert [need.needed for need in needs("qnn", none) if not need.ok] == [True, True]
    assert missing("qnn", none, in_container=True) == []


TOOLKIT = {"Runtimes": {"runc": {}, "nvidia": {}}}


@pytest.mark.parametrize(
    ("backend", "host", "in_container", "found"),
    [
        ("cuda", MadeUp(), False, "there is no NVIDIA driver; no /dev/nvidia0"),
        ("cuda", MadeUp(), True, "there is no NVIDIA driver; no /dev/nvidia0"),
        ("cuda", MadeUp(engine_info={}), True, "there is no NVIDIA driver; no /dev/nvidia0"),
        ("cuda", replace(GPU, engine_info={}), True, "the engine cannot hand GPUs to containers"),
        ("cuda", replace(GPU, engine_info=TOOLKIT), True, None),
        ("cuda", with_torch(GPU, "2.13.0+cpu"), False, None),
        ("rocm", MadeUp(), False, "there is no /dev/kfd; there is no /dev/dri/renderD*"),
        ("rocm", replace(AMD, forbidden=(RENDER,)), False, f"this user may not use {RENDER}"),
        ("rocm", AMD, True, None),
        ("qnn", MadeUp(), False, None),
        ("qnn", SNAPDRAGON, True, "there is no /dev/fastrpc-cdsp"),
        ("openvino", with_torch(MadeUp(), "2.13.0"), False, None),
        ("cpu", MadeUp(), False, None),
    ],
)
def test_a_device_that_is_not_there_is_known_before_anything_is_built(
    backend: Backend, host: Any, in_container: bool, found: str | None
) -> None:
    lack = device_lack(backend, in_container=in_container, host=host)
    assert (lack and lack.facts["found"]) == found
    if lack is not None:
        assert reason_text(lack) == f"backend {backend} has no device here: {found}"
        remedy = remedy_text("unavailable", lack) or ""
        assert remedy.startswith("Make the device reachable (")
