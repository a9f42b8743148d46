"""Selection of the NVIDIA GPU, and the use of its memory."""

from runner.contract.errors import Unavailable
from runner.measure.vendors.nvidia import open_nvidia_gpu, used_bytes
from tests.support.vendors import Nvml
from tests.support.words import raises_words


def test_the_gpu_with_that_uuid_or_the_only_one_is_asked() -> None:
    assert open_nvidia_gpu(Nvml(devices=2), "GPU-1")[1] == "device 1"
    assert open_nvidia_gpu(Nvml())[1] == "device 0"


def test_one_of_several_without_a_uuid_is_not_guessed() -> None:
    with raises_words(Unavailable, match="NVML sees 2 GPUs"):
        used_bytes(nvml=Nvml(devices=2))


def test_used_memory_is_that_gpus() -> None:
    assert used_bytes("GPU-0", Nvml(devices=2)) == 1_000
    assert used_bytes("GPU-1", Nvml(devices=2)) == 2_000
