"""Finding a device, played by an object with torch's attributes."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runner.backends.torch_place import Place, find_place
from runner.errors import Unavailable, Unsupported

pytestmark = pytest.mark.torch

FIRST, SECOND = "5e1b2c0a-0000-4d5e-8f90-000000000001", "77aa2c0a-0000-4d5e-8f90-000000000002"


@dataclass
class FakeCuda:
    """As torch.cuda, which stands for ROCm's devices, too."""

    error: Exception | None = None
    uuids: tuple[str | None, ...] = (FIRST, SECOND)
    has_bf16: bool = True
    architecture: str | None = None
    current: int | None = None

    def init(self) -> None:
        if self.error is not None:
            raise self.error

    def device_count(self) -> int:
        return len(self.uuids)

    def get_device_properties(self, index: int) -> SimpleNamespace:
        properties = SimpleNamespace(name=f"GPU {index}")
        if self.uuids[index] is not None:
            properties.uuid = self.uuids[index]
        if self.architecture:
            properties.gcnArchName = self.architecture
        return properties

    def set_device(self, index: int) -> None:
        self.current = index

    def is_bf16_supported(self, including_emulation: bool) -> bool:
        assert not including_emulation
        assert self.current is not None
        return self.has_bf16


@dataclass
class FakeMps:
    """As torch.backends.mps."""

    built: bool = True
    available: bool = True
    newer: bool = True

    def is_built(self) -> bool:
        return self.built

    def is_available(self) -> bool:
        return self.available

    def is_macos_or_newer(self, major: int, minor: int) -> bool:
        assert (major, minor) == (14, 0)
        return self.newer

    def get_name(self) -> str:
        return "Apple M4"


@dataclass
class FakeTorch:
    """As torch, of some build."""

    cuda: FakeCuda = field(default_factory=FakeCuda)
    mps: FakeMps = field(default_factory=FakeMps)
    built_for: tuple[str | None, str | None] = ("13.0", None)
    __version__ = "2.13.0"

    def __post_init__(self) -> None:
        self.version = SimpleNamespace(cuda=self.built_for[0], hip=self.built_for[1])
        self.backends = SimpleNamespace(
            mps=self.mps,
            cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
            cudnn=SimpleNamespace(allow_tf32=True),
        )


def rocm(**changes: Any) -> FakeTorch:
    return FakeTorch(cuda=FakeCuda(**changes), built_for=(None, "7.2"))


def test_the_cpu_is_always_there() -> None:
    place = find_place("cpu", "int8")
    assert place.device == torch.device("cpu")
    assert place.name
    assert place.uuid is None


def test_the_first_gpu_is_taken_without_tf32_and_says_so() -> None:
    library, environment = FakeTorch(), dict[str, str]()
    place = find_place("cuda", "fp32", library, environment)
    assert place == Place(
        torch.device("cuda", 0),
        "GPU 0",
        f"GPU-{FIRST}",
        {"backends.cuda.matmul.allow_tf32": "False", "backends.cudnn.allow_tf32": "False"},
    )
    assert library.backends.cuda.matmul.allow_tf32 is False
    assert library.backends.cudnn.allow_tf32 is False
    assert environment == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize("chosen", ["1", f"GPU-{SECOND}", "GPU-77aa", "cuda=1", "rocm=0,1"])
def test_the_user_chooses_by_index_or_uuid(chosen: str) -> None:
    library = FakeTorch()
    place = find_place("cuda", "fp32", library, {"ACCELMATRIX_DEVICE": chosen})
    assert (place.device, place.name) == (torch.device("cuda", 1), "GPU 1")
    assert library.cuda.current == 1


@pytest.mark.parametrize(
    ("chosen", "what"), [("2", "no"), ("GPU-9", "no"), ("GPU-", "more than one"), ("NPU", "no")]
)
def test_a_choice_that_fits_none_is_told_what_there_is(chosen: str, what: str) -> None:
    with pytest.raises(Unavailable) as caught:
        find_place("cuda", "fp32", FakeTorch(), {"ACCELMATRIX_DEVICE": chosen})
    assert str(caught.value) == (
        f"ACCELMATRIX_DEVICE: '{chosen}' is {what} GPU of cuda; "
        f"there are 0 (GPU-{FIRST}), 1 (GPU-{SECOND})"
    )


@pytest.mark.parametrize(
    ("backend", "library", "reason"),
    [
        ("cuda", rocm(), "torch 2.13.0 is a ROCm build, so it has no CUDA"),
        ("cuda", FakeTorch(built_for=(None, None)), "torch 2.13.0 is a build without CUDA"),
        ("rocm", FakeTorch(), "torch 2.13.0 is a build without ROCm"),
        ("mps", FakeTorch(mps=FakeMps(built=False)), "torch 2.13.0 is a build without MPS"),
        ("mps", FakeTorch(mps=FakeMps(available=False)), "finds no Metal device"),
        (
            "cuda",
            FakeTorch(cuda=FakeCuda(RuntimeError("Found no NVIDIA driver.\nPlease check"))),
            r"backend cuda: Found no NVIDIA driver\.$",
        ),
        ("rocm", rocm(error=RuntimeError("No HIP GPUs are available")), "No HIP GPUs"),
    ],
)
def test_where_there_is_no_device_torch_says_why(
    backend: Any, library: FakeTorch, reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        find_place(backend, "fp32", library, {})


def test_this_builds_own_reason_is_the_reason() -> None:
    if torch.version.cuda is None and torch.version.hip is None:
        with pytest.raises(Unavailable, match=r"is a build without CUDA$"):
            find_place("cuda", "fp32")


def test_rocm_names_the_architecture_too() -> None:
    place = find_place("rocm", "bf16", rocm(architecture="gfx942", uuids=(None,)), {})
    assert place == Place(torch.device("cuda", 0), "GPU 0 gfx942")


def test_mps_has_one_device_with_the_chips_name() -> None:
    assert find_place("mps", "bf16", FakeTorch(), {}) == Place(torch.device("mps", 0), "Apple M4")


def test_a_fallback_to_the_cpu_that_nobody_would_see_is_refused() -> None:
    with pytest.raises(Unsupported, match="run on the CPU unseen"):
        find_place("mps", "fp32", FakeTorch(), {"PYTORCH_ENABLE_MPS_FALLBACK": "2"})


@pytest.mark.parametrize(
    ("backend", "precision", "library", "reason"),
    [
        ("rocm", "int8", rocm(), "on CPUs and with CUDA alone"),
        ("mps", "int8", FakeTorch(), "on CPUs and with CUDA alone"),
        ("cuda", "bf16", FakeTorch(cuda=FakeCuda(has_bf16=False)), "which torch would emulate"),
        ("mps", "bf16", FakeTorch(mps=FakeMps(newer=False)), "it takes macOS 14"),
    ],
)
def test_precisions_that_a_device_lacks_are_unsupported(
    backend: Any, precision: Any, library: FakeTorch, reason: str
) -> None:
    with pytest.raises(Unsupported, match=f"{precision} is not possible with torch on .*{reason}"):
        find_place(backend, precision, library, {})


def test_whole_numbers_are_multiplied_with_cuda() -> None:
    assert find_place("cuda", "int8", FakeTorch(), {}).device == torch.device("cuda", 0)


def test_a_backend_of_another_runtime_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="no device for backend openvino"):
        find_place("openvino", "fp32")
