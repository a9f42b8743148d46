"""Which NVIDIA GPU ONNX Runtime is given; library and NVML are stood in for."""

from collections.abc import Sequence

import pytest

from runner.backends.onnxruntime_cuda import CUDA, ORDER, VISIBLE, cuda_device
from runner.backends.onnxruntime_device import CPU, OnnxDevice
from runner.device_choice import VARIABLE
from runner.errors import Unavailable

UUIDS = ("GPU-aaaa-1", "GPU-bbbb-2", "GPU-bbcc-3")


class FakeLibrary:
    """What is asked of the package onnxruntime before a session is made."""

    def __init__(self, *providers: str) -> None:
        self._providers = providers
        self.preloaded = False

    def get_available_providers(self) -> list[str]:
        return list(self._providers)

    def preload_dlls(self) -> None:
        self.preloaded = True


class FakeNvml:
    """NVML with GPUs of these UUIDs; their handles are their places."""

    def __init__(self, uuids: Sequence[str] = UUIDS) -> None:
        self._uuids = uuids

    def nvmlInit(self) -> None:  # noqa: N802 - as NVML calls it
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._uuids)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return self._uuids[handle]

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return f"GPU number {handle}"


class SilentNvml(FakeNvml):
    """NVML without a driver."""

    def nvmlInit(self) -> None:  # noqa: N802
        raise RuntimeError("Driver Not Loaded")


def found(environment: dict[str, str] | None = None, nvml: FakeNvml | None = None) -> OnnxDevice:
    library = FakeLibrary(CUDA, CPU)
    return cuda_device(library, nvml or FakeNvml(), {} if environment is None else environment)


def test_a_gpu_needs_a_build_that_has_its_provider() -> None:
    with pytest.raises(Unavailable, match=f"no {CUDA} here, only {CPU}") as caught:
        cuda_device(FakeLibrary(CPU), FakeNvml(), {})
    assert "onnxruntime-gpu" in str(caught.value.hint)


def test_the_first_gpu_is_used_and_its_products_are_not_rounded() -> None:
    library, environment = FakeLibrary(CUDA, CPU), dict[str, str]()
    device = cuda_device(library, FakeNvml(), environment)
    assert library.preloaded
    assert device.is_accelerator
    assert (device.name, device.uuid) == ("GPU number 0", UUIDS[0])
    assert device.options == {"device_id": "0", "use_tf32": "0"}
    assert (device.memory, device.index) == ("cuda", 0)
    assert environment == {ORDER: "PCI_BUS_ID"}


@pytest.mark.parametrize(("chosen", "index"), [("1", 1), ("cuda=2", 2), ("GPU-bbcc", 2)])
def test_the_user_picks_by_index_or_uuid(chosen: str, index: int) -> None:
    device = found({VARIABLE: chosen})
    assert (device.index, device.uuid) == (index, UUIDS[index])
    assert device.options["device_id"] == str(index)


@pytest.mark.parametrize("chosen", ["3", "GPU-bb", "GPU-zz", "H100"])
def test_a_choice_that_fits_no_gpu_or_two_is_refused(chosen: str) -> None:
    with pytest.raises(
        Unavailable, match=f"'{chosen}' is not one of the GPUs GPU-aaaa-1"
    ) as caught:
        found({VARIABLE: chosen})
    assert VARIABLE in str(caught.value.hint)


@pytest.mark.parametrize("listed", ["2,0", "GPU-bbcc-3,GPU-aaaa-1", "GPU-bbcc,0"])
def test_an_index_counts_among_the_gpus_that_cuda_may_see(listed: str) -> None:
    first = found({VISIBLE: listed})
    assert (first.index, first.uuid) == (0, UUIDS[2])
    second = found({VISIBLE: listed, VARIABLE: "1"})
    assert (second.index, second.uuid) == (1, UUIDS[0])


def test_without_a_gpu_there_is_no_device() -> None:
    with pytest.raises(Unavailable, match="no GPU that CUDA may see"):
        found({VISIBLE: ""})
    with pytest.raises(Unavailable, match="no GPU that CUDA may see"):
        found(nvml=FakeNvml([]))


def test_without_a_driver_its_librarys_words_are_given() -> None:
    with pytest.raises(Unavailable, match="NVML does not answer: Driver Not Loaded"):
        found(nvml=SilentNvml())
