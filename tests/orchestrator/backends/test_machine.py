"""Only who plans for this machine looks at it."""

import psutil
import pytest

from orchestrator.backends.machine import X86, Machine, this_machine
from runner.backends.onnxruntime.qnn.plugin import require_possible
from runner.contract.cell import Purpose
from runner.contract.errors import Unavailable
from tests.support.onnx_graphs import onnx_cell, onnx_job

JOB = onnx_job(onnx_cell(backend="qnn", precision="fp16"))


def test_a_job_may_use_less_than_this_machine_has() -> None:
    allowed = this_machine().memory_bytes
    assert allowed is not None
    assert 0 < allowed < psutil.virtual_memory().total


def test_of_another_machine_nothing_is_known() -> None:
    assert Machine() == Machine(memory_bytes=None, unavailable={})


def test_what_no_machine_of_its_kind_has_needs_no_probing() -> None:
    assert this_machine("measure", "darwin", "arm64").unavailable == {}
    lacks = this_machine("measure", "linux", "aarch64").unavailable
    assert lacks == {"mps": "backend mps exists on macOS alone, and this is Linux"}


@pytest.mark.parametrize("instruction_set", sorted(X86))
@pytest.mark.parametrize("purpose", ["measure", "time"])
def test_a_simulator_is_not_timed_and_the_reason_is_the_runners(
    purpose: Purpose, instruction_set: str
) -> None:
    work = JOB.model_copy(update={"purpose": purpose})
    with pytest.raises(Unavailable) as caught:
        require_possible(work, machine=instruction_set)
    reason = this_machine(purpose, "linux", instruction_set).unavailable["qnn"]
    assert reason == str(caught.value)


@pytest.mark.parametrize("purpose", ["verify", "prepare"])
def test_a_simulator_shows_what_is_correct(purpose: Purpose) -> None:
    assert "qnn" not in this_machine(purpose, "linux", "x86_64").unavailable
