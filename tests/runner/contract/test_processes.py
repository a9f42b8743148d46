"""Variables that decide speed are known by their names, those that the user named are recorded as
well; the rest of an environment stays unseen."""

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

import pytest

from runner.contract.processes import end_facts, oom_kills, runtime_variables
from runner.contract.record.record import Record
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


@pytest.mark.parametrize(
    "name",
    [
        *("DISABLE_ADDMM_CUDA_LT", "GPU_MAX_HW_QUEUES", "ROC_ACTIVE_WAIT_TIMEOUT", "TENSILE_DB"),
        *("HSAKMT_DEBUG_LEVEL", "OCL_ICD_VENDORS", "IGC_ShaderDumpEnable", "MKLDNN_VERBOSE"),
        *("ADSP_LIBRARY_PATH", "GOTO_NUM_THREADS", "HWLOC_COMPONENTS", "MTL_DEBUG_LAYER"),
    ],
)
def test_what_libraries_of_every_vendor_read_is_recorded(name: str) -> None:
    assert runtime_variables({name: "1"}) == {name: "1"}


def test_of_a_named_variable_that_no_runtime_is_known_to_read_a_hash_is_recorded() -> None:
    environment = {"HF_TOKEN": "hf_secret", "OTHER_TOKEN": "b", "OMP_NUM_THREADS": "2"}
    assert runtime_variables(environment, ["HF_TOKEN", "OMP_NUM_THREADS", "UNSET"]) == {
        "HF_TOKEN": f"sha256:{sha256(b'hf_secret').hexdigest()[:8]}",
        "OMP_NUM_THREADS": "2",
    }
    assert runtime_variables({"CUDA_VISIBLE_DEVICES": "1"}, ["CUDA_VISIBLE_DEVICES"]) is None
    assert runtime_variables({"PYTHONPATH": "/a"}, ["PYTHONPATH"]) == {"PYTHONPATH": "/a"}


def with_variables(environment: dict[str, str], inherited: Collection[str] = ()) -> Record:
    variables = runtime_variables(environment, inherited)
    return record_for(a_job(), fake_cell(), environment_variables=variables)


def test_a_record_made_with_another_variable_has_another_environment() -> None:
    slow = with_variables({"ONEDNN_MAX_CPU_ISA": "AVX2"})
    assert slow.environment_id != with_variables({}).environment_id
    assert with_variables({"HOME": "/"}).environment_id == with_variables({}).environment_id


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        (-9, {"signal": "SIGKILL"}),
        (137, {"signal": "SIGKILL"}),
        (-11, {"signal": "SIGSEGV"}),
        (3, {"exit_status": "3"}),
        (255, {"exit_status": "255"}),
    ],
)
def test_signals_are_named_and_other_ends_are_counted(code: int, facts: dict[str, str]) -> None:
    assert end_facts(code) == facts


def test_kills_for_memory_are_counted_where_the_kernel_tells(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    assert oom_kills(vmstat) == 0
    vmstat.write_text("nr_free_pages 1\noom_kill 7\n")
    assert oom_kills(vmstat) == 7
