"""A user names devices in one variable, for all backends or for each."""

import pytest

from runner.contract.job import DEVICE_VARIABLE, chosen_device


@pytest.mark.parametrize(
    ("value", "device"),
    [
        ("GPU.1", "GPU.1"),
        (" GPU.1 ", "GPU.1"),
        ("openvino=NPU", "NPU"),
        ("cuda=1, openvino = AUTO", "AUTO"),
        ("0,openvino=CPU", "CPU"),
        ("0,cuda=1", "0"),
        ("cuda=GPU-5e1b2c", None),
        ("openvino=", None),
        ("", None),
    ],
)
def test_a_backend_finds_its_own_device(value: str, device: str | None) -> None:
    assert chosen_device("openvino", {DEVICE_VARIABLE: value}) == device


def test_without_the_variable_the_backend_chooses() -> None:
    assert chosen_device("cuda", {}) is None
