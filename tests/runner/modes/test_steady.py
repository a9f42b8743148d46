"""Phases of a warm cell."""

import gc
from dataclasses import replace
from functools import partial

import pytest

from runner.contract.job import PROFILES
from runner.contract.rounds import RoundResult
from runner.measure.noise import NoiseMeter
from runner.modes.base import InferenceWorkload, measure_steadily
from tests.support.jobs import a_job
from tests.support.scene import Scene


class Hoarding(Scene):
    """A session that keeps memory of cells before this one until it is told to give it back."""

    def __init__(self) -> None:
        super().__init__()
        self.reader.use = 900

    def trim(self) -> None:
        """Keep what the weights take."""
        self.reader.use = 100


def test_a_cells_peak_holds_nothing_that_was_kept_for_others() -> None:
    scene, job = Hoarding(), a_job()

    def make() -> InferenceWorkload:
        return InferenceWorkload(scene.session, job, job.cells[0], scene.clock)

    result = measure_steadily(make, scene.session, job, scene.instruments())
    assert result.memory.peak_bytes == 100


def _look(scene: Scene, looks: list[int]) -> None:
    looks.append(scene.clock())


def test_a_machine_is_heated_ahead_of_the_warm_up_and_nothing_of_it_is_timed() -> None:
    plain = PROFILES["quick"]
    heated = plain.model_copy(update={"heat_s": 60.0})
    results: list[RoundResult] = []
    looks: list[int] = []
    for measure in (plain, heated):
        scene, job = Scene(), a_job(measure=measure)
        make = partial(InferenceWorkload, scene.session, job, job.cells[0], scene.clock)
        noise = NoiseMeter(clock=scene.clock, kernel=partial(_look, scene, looks))
        instruments = replace(scene.instruments(), noise=noise)
        results.append(measure_steadily(make, scene.session, job, instruments))
    usual, sustained = results
    assert usual.heating_ns == []
    assert sum(sustained.heating_ns) == pytest.approx(60e9, rel=0.01)
    assert looks[len(looks) // 2] > 60e9, "the host's noise is read behind the heating"
    for name in ("warmup_ns", "durations_ns", "enough_windows"):
        assert getattr(sustained, name) == getattr(usual, name)


def test_no_garbage_is_collected_from_the_warm_up_to_the_last_reading_of_energy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene, job = Scene(), a_job()
    events: list[str] = []
    instruments = scene.instruments()
    start, stop = instruments.energy.start, instruments.energy.stop
    monkeypatch.setattr(gc, "collect", lambda: events.append("collect"))
    monkeypatch.setattr(instruments.energy, "start", lambda: (events.append("start"), start()))
    monkeypatch.setattr(instruments.energy, "stop", lambda: (events.append("stop"), stop())[1])

    def make() -> InferenceWorkload:
        return InferenceWorkload(scene.session, job, job.cells[0], scene.clock)

    measure_steadily(make, scene.session, job, instruments)
    assert events == ["collect", "start", "stop"]
