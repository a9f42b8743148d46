"""What each backend needs of a machine, looked for on machines that are made up."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pytest

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.probes import HTP_NODES, Need
from runner.contract.cell import Backend
from runner.contract.errors import EngineUnavailable

SMI = "NVIDIA H100 80GB HBM3, 570.86.15"


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


def probed(backend: Backend, host: MadeUp, *, in_container: bool = False) -> list[Need]:
    probe = CATALOGUE[backend].probe
    assert probe
    return list(probe(host, in_container=in_container))


def missing(backend: Backend, host: MadeUp, *, in_container: bool = False) -> list[Need]:
    return [check for check in probed(backend, host, in_container=in_container) if not check.ok]


def messages(checks: list[Need]) -> list[tuple[str, str]]:
    return [(check.kind, check.message) for check in checks]


GPU = MadeUp(there=("/dev/nvidia0", "/dev/nvidiactl"), says={"nvidia-smi": SMI})


@pytest.mark.parametrize("version", ["2.13.0+cu128", "2.13.0"])
def test_a_gpu_with_driver_and_the_right_torch_lacks_nothing(version: str) -> None:
    host = MadeUp(there=GPU.there, says=GPU.says, versions={"torch": version})
    assert missing("cuda", host) == []
    driver = next(check for check in probed("cuda", host) if check.kind == "driver")
    assert driver.message == SMI


def test_torch_for_the_cpu_is_no_torch_for_cuda() -> None:
    host = MadeUp(there=GPU.there, says=GPU.says, versions={"torch": "2.13.0+cpu"})
    (check,) = missing("cuda", host)
    assert (check.kind, check.message) == ("library", "torch 2.13.0+cpu is no build for CUDA")
    assert check.remedy == "install torch's CUDA build"


def test_without_a_gpu_driver_and_device_are_missing() -> None:
    assert messages(missing("cuda", MadeUp())) == [
        ("driver", "there is no NVIDIA driver"),
        ("device", "no /dev/nvidia0"),
    ]


def test_a_gpu_whose_driver_does_not_answer_is_told_apart() -> None:
    host = MadeUp(there=GPU.there)
    assert messages(missing("cuda", host)) == [("driver", "nvidia-smi finds no driver")]


@pytest.mark.parametrize(
    "info",
    [
        {"Runtimes": {"runc": {}, "nvidia": {}}},
        {"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]},
    ],
    ids=["runtime", "cdi"],
)
def test_containers_get_gpus_by_a_runtime_or_by_cdi(info: dict[str, object]) -> None:
    host = MadeUp(there=GPU.there, says=GPU.says, engine_info=info)
    assert missing("cuda", host, in_container=True) == []


def test_without_the_toolkit_no_container_gets_a_gpu() -> None:
    host = MadeUp(there=GPU.there, says=GPU.says, engine_info={"Runtimes": {"runc": {}}})
    (check,) = missing("cuda", host, in_container=True)
    assert check.message == "the engine cannot hand GPUs to containers"
    assert "nvidia-ctk runtime configure" in str(check.remedy)


AMD = ("/dev/kfd", "/dev/dri/renderD128")


def test_an_amd_gpu_needs_kfd_a_renderer_and_torch_for_rocm() -> None:
    assert missing("rocm", MadeUp(there=AMD, versions={"torch": "2.13.0+rocm7.1"})) == []
    assert messages(missing("rocm", MadeUp(versions={"torch": "2.13.0+cpu"}))) == [
        ("driver", "there is no /dev/kfd"),
        ("device", "there is no /dev/dri/renderD*"),
        ("library", "torch 2.13.0+cpu is no build for ROCm"),
    ]


def test_who_may_not_use_a_device_learns_the_group_to_join() -> None:
    (check,) = missing("rocm", MadeUp(there=AMD, forbidden=("/dev/kfd",)))
    assert (check.kind, check.message) == ("permission", "this user may not use /dev/kfd")
    assert check.remedy == "`sudo usermod --append --groups render $USER`, then log in again"


def test_containers_get_the_devices_groups_so_this_users_do_not_matter() -> None:
    assert missing("rocm", MadeUp(there=AMD, forbidden=AMD), in_container=True) == []


def test_mps_is_on_macs_with_apple_silicon_alone() -> None:
    assert missing("mps", MadeUp(system="darwin", machine="arm64")) == []
    (check,) = missing("mps", MadeUp(system="darwin"))
    assert "on Apple silicon alone, and this is x86_64" in check.message
    assert missing("mps", MadeUp()) == [], "the launcher has said that this is no macOS"


def test_openvino_tells_its_devices() -> None:
    interpreter = Path(sys.executable).name
    host = MadeUp(says={interpreter: "CPU: AMD EPYC"}, versions={"openvino": "2026.4.1"})
    (check,) = probed("openvino", host)
    assert (check.ok, check.message) == (True, "CPU: AMD EPYC")


def test_an_openvino_that_lists_no_devices_is_told() -> None:
    host = MadeUp(versions={"openvino": "2026.4.1"})
    assert messages(missing("openvino", host)) == [("device", "OpenVINO lists no devices")]


def test_a_gpu_that_openvino_may_not_use_is_a_remark_since_the_cpu_computes() -> None:
    render = "/dev/dri/renderD128"
    says = {Path(sys.executable).name: "CPU: AMD EPYC"}
    host = MadeUp(there=(render,), forbidden=(render,), says=says)
    (check,) = missing("openvino", host)
    assert (check.kind, check.message) == ("permission", f"this user may not use {render}")
    assert not check.needed
    assert "--groups render" in str(check.remedy)


def test_openvino_in_containers_has_the_cpu_and_what_nodes_there_are() -> None:
    (check,) = probed("openvino", MadeUp(there=("/dev/accel/accel0",)), in_container=True)
    assert check.ok
    assert check.message == "the CPU, and what OpenVINO knows of /dev/accel/accel0"


def test_qnn_on_x86_is_a_simulator_and_says_so() -> None:
    (check,) = probed("qnn", MadeUp())
    assert check.ok
    assert "simulator" in check.message
    assert "never what is fast" in check.message


def test_qnn_on_a_snapdragon_needs_its_driver() -> None:
    assert messages(missing("qnn", MadeUp(machine="aarch64"))) == [
        ("device", "there is no /dev/fastrpc-cdsp")
    ]
    assert missing("qnn", MadeUp(machine="aarch64", there=("/dev/fastrpc-cdsp",))) == []


@pytest.mark.parametrize("node", HTP_NODES)
def test_every_node_that_qnn_is_found_by_reaches_containers(node: str) -> None:
    (check,) = probed("qnn", MadeUp(machine="aarch64", there=(node,)), in_container=True)
    assert (check.ok, check.message) == (True, node)
    assert node in CATALOGUE["qnn"].device.optional_nodes


def test_qnn_by_process_needs_one_node_that_this_user_may_use() -> None:
    plain, secure = HTP_NODES[:2]
    one = MadeUp(machine="aarch64", there=(plain, secure), forbidden=(secure,))
    assert [(check.message, check.needed) for check in missing("qnn", one)] == [
        (f"this user may not use {secure}", False)
    ]
    none = MadeUp(machine="aarch64", there=(plain, secure), forbidden=(plain, secure))
    assert [check.needed for check in missing("qnn", none)] == [True, True]
    assert missing("qnn", none, in_container=True) == []
