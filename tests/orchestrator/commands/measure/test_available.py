"""The backends of this machine, as `doctor` finds them."""

import pytest

from orchestrator.backends.machine import Machine
from orchestrator.commands.measure import request
from orchestrator.commands.measure.request import PlanRequest, available_backends
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.launchers import diagnosis
from orchestrator.running.options import RunOptions
from runner.contract.axes import Backend
from runner.contract.cell import Purpose
from runner.contract.reasons import Reason, reason

SIMULATED = {"qnn": "the simulator's time says nothing about a device"}
_REASONS: dict[Backend, Reason] = {
    backend: reason("said", text=text)  # type: ignore[misc]
    for backend, text in SIMULATED.items()
}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with a CPU and a simulator; the launchers that were asked for."""
    asked: list[str] = []

    def runnable(launcher: str) -> list[str]:
        asked.append(launcher)
        return ["cpu", "qnn"]

    def machine(purpose: Purpose) -> Machine:
        return Machine(unavailable={} if purpose == "verify" else _REASONS)

    monkeypatch.setattr(diagnosis, "runnable", runnable)
    monkeypatch.setattr(request, "this_machine", machine)
    return asked


def test_a_simulator_is_left_out_of_what_is_timed(machine: list[str]) -> None:
    timed = available_backends("process", "measure")
    assert (timed.launcher, timed.backends, timed.left_out) == ("process", ["cpu"], SIMULATED)
    assert available_backends("process", "verify").backends == ["cpu", "qnn"]
    assert machine == ["process", "process"]


def test_a_request_asks_the_machine_once_and_only_for_the_word(machine: list[str]) -> None:
    options = RunOptions(launcher="process")

    def backends(*named: str) -> object:
        axes = {"model": ["bert-tiny"], "backend": named}
        request = PlanRequest(BenchOptions.of_axes(axes), options=options)
        return request.parsed.axes["backend"]

    assert backends("cuda") == ("cuda",)
    assert machine == []
    assert backends("available") == ("cpu",)
    assert machine == ["process"]
