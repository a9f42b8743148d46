"""A backend is made ready once; the answer holds until an engine comes back."""

import pytest

from orchestrator.running.execute_job import Availability
from runner.contract.cell import Backend
from runner.contract.errors import ImageError, Unavailable
from runner.contract.job import Provenance
from tests.support.fakes import ScriptedLauncher, measures_all


class Counting(ScriptedLauncher):
    """Counts how often each backend is asked for."""

    def __init__(self) -> None:
        super().__init__(measures_all)
        self.asked: list[Backend] = []

    def prepare(self, backend: Backend) -> Provenance:
        self.asked.append(backend)
        return super().prepare(backend)


def test_a_backend_is_made_ready_once_and_knows_the_host() -> None:
    launcher = Counting()
    availability = Availability(launcher)
    assert availability.prepare("cpu") == availability.prepare("cpu")
    assert availability.prepare("cpu").hostname
    assert launcher.asked == ["cpu"]


@pytest.mark.parametrize("error", [Unavailable("no torch"), ImageError("no image")])
def test_a_refusal_is_remembered(error: Exception) -> None:
    launcher = Counting()
    launcher.refusals["cpu"] = error  # type: ignore[assignment]
    availability = Availability(launcher)
    for _ in range(2):
        with pytest.raises(type(error)):
            availability.prepare("cpu")
    assert launcher.asked == ["cpu"]


def test_with_an_engine_that_returns_all_backends_are_made_ready_anew() -> None:
    launcher = Counting()
    availability = Availability(launcher)
    availability.prepare("openvino")
    assert availability.comes_back("cpu", patience_s=0)
    availability.prepare("cpu")
    availability.prepare("openvino")
    assert launcher.asked == ["openvino", "cpu", "openvino"]
