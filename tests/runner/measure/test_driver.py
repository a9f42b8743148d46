"""The driver's version stands beside the libraries', where the vendor's library tells it."""

from runner.measure.driver import driver_version
from tests.runner.measure.vendors import AmdSmi, Nvml


def test_nvidias_driver_is_told() -> None:
    assert driver_version("cuda", Nvml()) == {"nvidia-driver": "580.95.05"}


def test_amds_driver_has_its_own_name() -> None:
    assert driver_version("rocm", AmdSmi()) == {"amdgpu": "6.14.14"}


def test_what_is_not_told_is_left_out() -> None:
    assert driver_version("rocm", AmdSmi(devices=2)) == {}
    assert driver_version("cuda", object()) == {}
    assert driver_version("cpu", Nvml()) == {}
