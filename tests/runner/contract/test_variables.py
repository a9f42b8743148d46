"""Variables that decide speed are known by their names; the rest of an environment stays unseen."""

import pytest

from runner.contract.record import Record
from runner.contract.variables import is_variable_name, runtime_variables
from tests.support.jobs import a_job, fake_cell
from tests.support.records import record_for


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, None),
        ({"HOME": "/home/a", "SECRET": "b", "PATH": "/bin"}, None),
        ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, {"ONEDNN_MAX_CPU_ISA": "AVX2"}),
        ({"PYTHONPATH": "/home/a", "PYTHONHASHSEED": "0"}, None),
        ({"PYTHONOPTIMIZE": ""}, {"PYTHONOPTIMIZE": ""}),
        ({"CUDA_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, None),
        ({"HOME": "/home/a/", "LD_PRELOAD": "/home/a/x.so"}, {"LD_PRELOAD": "~/x.so"}),
        (
            {"OMP_A": "a\x1b\n\udcff", "MALLOC_B": "b" * 2000},
            {"MALLOC_B": "b" * 1000, "OMP_A": "a???"},
        ),
    ],
)
def test_what_is_recorded_decides_speed(
    environment: dict[str, str], seen: dict[str, str] | None
) -> None:
    assert runtime_variables(environment) == seen


def with_variables(environment: dict[str, str]) -> Record:
    variables = runtime_variables(environment)
    return record_for(a_job(), fake_cell(), environment_variables=variables)


def test_a_record_made_with_another_variable_has_another_environment() -> None:
    slow = with_variables({"ONEDNN_MAX_CPU_ISA": "AVX2"})
    assert slow.environment_id != with_variables({}).environment_id
    assert with_variables({"HOME": "/"}).environment_id == with_variables({}).environment_id


@pytest.mark.parametrize(
    ("text", "is_name"), [("OMP_NUM_THREADS", True), ("a b", False), ("1A", False), ("", False)]
)
def test_names(text: str, is_name: bool) -> None:
    assert is_variable_name(text) is is_name
