"""Devices of ONNX Runtime and their memory; NVIDIA's by stand-ins for library and NVML."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, helper

from orchestrator.screen.words.reasons import error_hint
from orchestrator.store.records.validate import read_record
from runner.backends.base import DeviceMemory
from runner.backends.onnxruntime.backend import open_session
from runner.backends.onnxruntime.device import (
    _ORDER,
    _VISIBLE,
    CPU,
    CUDA,
    DriverMemory,
    OnnxDevice,
    find_cuda_device,
)
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.job import DEVICE_VARIABLE
from runner.contract.processes import python_environment
from runner.contract.record.record import Record
from tests.support.onnx_graphs import (
    FLOAT,
    HALF,
    WIDTH,
    layer,
    model_of,
    onnx_cell,
    onnx_job,
    save_graph,
)
from tests.support.words import raises_words

UUIDS = ("GPU-aaaa-1", "GPU-bbbb-2", "GPU-bbcc-3")


def library_with(*providers: str) -> Any:
    return Mock(get_available_providers=lambda: list(providers))


def nvml_with(uuids: Sequence[str] = UUIDS, error: Exception | None = None) -> Any:
    """NVML with GPUs of these UUIDs, whose handles are their places; or without a driver."""
    return SimpleNamespace(
        nvmlInit=Mock(side_effect=error),
        nvmlDeviceGetCount=lambda: len(uuids),
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: uuids[handle],
        nvmlDeviceGetName=lambda handle: f"GPU number {handle}",
    )


def found(environment: dict[str, str] | None = None, nvml: Any = None) -> OnnxDevice:
    environment = {} if environment is None else environment
    return find_cuda_device(library_with(CUDA, CPU), nvml or nvml_with(), environment)


def test_a_gpu_needs_a_build_that_has_its_provider() -> None:
    with raises_words(Unavailable, match=f"no {CUDA} here, only {CPU}") as caught:
        find_cuda_device(library_with(CPU), nvml_with(), {})
    assert "onnxruntime-gpu" in str(error_hint(caught.value))


def test_the_first_gpu_is_used_and_its_products_are_not_rounded() -> None:
    library, environment = library_with(CUDA, CPU), dict[str, str]()
    device = find_cuda_device(library, nvml_with(), environment)
    library.preload_dlls.assert_called_once_with()
    assert device.is_accelerator
    assert (device.name, device.uuid) == ("GPU number 0", UUIDS[0])
    assert device.options == {"device_id": "0", "use_tf32": "0"}
    assert (device.memory, device.index) == ("cuda", 0)
    assert environment == {_ORDER: "PCI_BUS_ID"}


@pytest.mark.parametrize(("chosen", "index"), [("1", 1), ("cuda=2", 2), ("GPU-bbcc", 2)])
def test_the_user_picks_by_index_or_uuid(chosen: str, index: int) -> None:
    device = found({DEVICE_VARIABLE: chosen})
    assert (device.index, device.uuid) == (index, UUIDS[index])
    assert device.options["device_id"] == str(index)


@pytest.mark.parametrize("chosen", ["3", "GPU-bb", "GPU-zz", "H100"])
def test_a_choice_that_fits_no_gpu_or_two_is_refused(chosen: str) -> None:
    reason = f"'{chosen}' is not one of the GPUs GPU-aaaa-1"
    with raises_words(Unavailable, match=reason) as caught:
        found({DEVICE_VARIABLE: chosen})
    assert DEVICE_VARIABLE in str(error_hint(caught.value))


SLICES = {"GPU-aaaa-1": ("MIG-1111", "MIG-2222"), "GPU-cccc-4": ()}


def divided_nvml(*boards: str) -> Any:
    """NVML with boards of which those in `SLICES` are divided; places without a slice fail."""

    def name_of(handle: str) -> str:
        return "H100 MIG 1g.10gb" if handle.startswith("MIG") else "H100"

    def slice_of(board: str, place: int) -> str:
        return SLICES[board][place - 1]  # the first place of a board may well be empty

    return SimpleNamespace(
        nvmlInit=Mock(),
        nvmlDeviceGetCount=lambda: len(boards),
        nvmlDeviceGetHandleByIndex=lambda index: boards[index],
        nvmlDeviceGetUUID=lambda handle: handle,
        nvmlDeviceGetName=name_of,
        nvmlDeviceGetMigMode=lambda board: [int(board in SLICES), 0],
        nvmlDeviceGetMaxMigDeviceCount=lambda board: 1 + len(SLICES[board]),
        nvmlDeviceGetMigDeviceHandleByIndex=lambda board, place: (
            slice_of(board, place) if place else SLICES["none"]
        ),
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceIsMigDeviceHandle=lambda handle: handle.startswith("MIG"),
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle=lambda handle: "GPU-aaaa-1",
    )


@pytest.mark.parametrize(
    ("environment", "uuid"),
    [
        ({}, "MIG-1111"),
        ({_VISIBLE: "MIG-2222"}, "MIG-2222"),
        ({_VISIBLE: "MIG-2222,MIG-1111"}, "MIG-2222"),
        ({_VISIBLE: "MIG-2222,MIG-1111", DEVICE_VARIABLE: "1"}, "MIG-1111"),
        ({_VISIBLE: "0"}, "MIG-1111"),
        ({_VISIBLE: "GPU-aaaa"}, "MIG-1111"),
        ({DEVICE_VARIABLE: "cuda=MIG-2"}, "MIG-2222"),
    ],
)
def test_a_slice_stands_for_itself_and_is_what_cuda_sees(
    environment: dict[str, str], uuid: str
) -> None:
    device = found(environment, divided_nvml("GPU-aaaa-1"))
    assert (device.uuid, device.name) == (uuid, "H100 MIG 1g.10gb")
    assert (device.index, device.options["device_id"]) == (0, "0")
    assert environment[_VISIBLE] == uuid


@pytest.mark.parametrize(
    ("environment", "nvml", "reason"),
    [
        ({_VISIBLE: ""}, nvml_with(), "no GPU that CUDA may see"),
        ({}, nvml_with([]), "no GPU that CUDA may see"),
        ({}, nvml_with(error=RuntimeError("No driver")), "NVML does not answer: No driver"),
    ],
)
def test_without_a_gpu_or_driver_there_is_no_device(
    environment: dict[str, str], nvml: Any, reason: str
) -> None:
    with raises_words(Unavailable, match=reason):
        found(environment, nvml)


def test_it_is_true_that_the_cpu_computes_fp16_in_fp32(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    model = layer(kind=HALF).SerializeToString()
    onnxruntime.InferenceSession(model, options, providers=[CPU])
    nodes = onnx.load(tmp_path / "optimised.onnx").graph.node
    casts = [node for node in nodes if node.op_type == "Cast"]
    assert onnx.TensorProto.FLOAT in {node.attribute[0].i for node in casts}
    assert {node.op_type for node in nodes} > {"Cast", "MatMul"}


MEGABYTE = 1_000_000
BROAD = 4096
SMALL, LARGE = onnx_cell(4), onnx_cell(10_000)


def broad_layer() -> ModelProto:
    """A graph whose inner values take 16 KB for each row, and whose outputs are small."""
    weights = np.random.default_rng(0).standard_normal(WIDTH * BROAD)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Softmax", ["product"], ["shares"]),
        helper.make_node("MatMul", ["shares", "v"], ["logits"]),
    ]
    values = [helper.make_tensor_value_info(name, FLOAT, ("n", WIDTH)) for name in ("x", "logits")]
    weight, turned = (
        helper.make_tensor(name, FLOAT, shape, weights.tolist())
        for name, shape in (("w", (WIDTH, BROAD)), ("v", (BROAD, WIDTH)))
    )
    return model_of(helper.make_graph(nodes, "broad", values[:1], values[1:], [weight, turned]))


def measured(folder: Path, *cells: Cell) -> list[Record]:
    out = folder / "-".join(str(cell.batch_size) for cell in cells)
    out.mkdir()
    job = out / "job.json"
    job.write_text(onnx_job(*cells).model_dump_json())
    options = ["--job", str(job), "--out", str(out), "--graphs", str(folder)]
    command = [sys.executable, "-P", "-m", "runner", *options]
    subprocess.run(command, env=python_environment(), check=True, capture_output=True)
    return [read_record(out / f"{cell.id}.parquet") for cell in cells]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are reset on Linux alone")
def test_a_small_shape_behind_a_large_one_peaks_as_it_does_alone(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": broad_layer()})
    (alone,) = measured(tmp_path, SMALL)
    large, behind = measured(tmp_path, LARGE, SMALL)
    peaks = [record.memory_peak_bytes or 0 for record in (alone, behind, large)]
    assert [record.status for record in (alone, behind, large)] == ["ok"] * 3
    assert peaks[2] > peaks[0] + 100 * MEGABYTE
    assert peaks[1] < peaks[0] + 30 * MEGABYTE


FOUR = {"x": np.ones((4, WIDTH), dtype=np.float32)}


def test_sessions_are_kept_until_they_have_answered(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    with closing(open_session(onnx_job(SMALL, LARGE), 1, tmp_path)) as session:
        session.trim()
        first = session.bind(SMALL, FOUR).opened
        session.trim()
        assert session.bind(SMALL, FOUR).opened is not first
        assert session.columns["graph"] == "perceptron/dynamic"


def test_an_accelerators_memory_counts_from_before_the_load_if_its_driver_tells() -> None:
    used = [500]
    gauge = DriverMemory(lambda: used[-1])
    for now, ours in ((800, 300), (400, 0)):
        used.append(now)
        assert gauge.read() == DeviceMemory(allocator_peak_bytes=None, used_bytes=ours)
    assert DriverMemory(None).read() is None
    assert DriverMemory(Mock(side_effect=RuntimeError("GPU is lost"))).read() is None
