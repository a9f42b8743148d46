"""Evaluations: errors and coverage by hand, baselines on laws that they know, hidden groups."""

import pytest

from analysis.charts.accuracy import accuracy_chart
from analysis.charts.chart import PAPER
from analysis.predict.baselines import PREDICTION_BASELINES
from analysis.predict.examples.placements import PREDICTION_TARGETS, Example
from analysis.predict.predictor import Prediction
from analysis.predict.trials import AnsweredQuestion, PredictionTrial, accuracy_of, cross_validated
from tests.analysis.predict.examples import a_placement, an_example, peak_seconds

LATENCY, THROUGHPUT = PREDICTION_TARGETS["latency"], PREDICTION_TARGETS["throughput"]
SPEEDS = {"big": 2.0, "small": 7.0}
MODELS = {f"net-{number}": 1.3**number for number in range(6)}


def law(model: str, device: str, batch_size: int = 1) -> Example:
    placement = a_placement(model, device, batch_size, MODELS[model])
    return Example(placement, SPEEDS[device] * peak_seconds(placement), "accelmatrix")


def test_errors_are_relative_to_what_was_measured() -> None:
    accuracy = accuracy_of([10.0, 10.0, 10.0, 100.0], [10.9, 8.0, 10.5, 200.0])
    assert accuracy is not None
    assert (accuracy.questions, accuracy.within_tenth) == (4, 0.5)
    assert accuracy.mape == pytest.approx((0.09 + 0.2 + 0.05 + 1.0) / 4)
    assert (accuracy.median_ape, accuracy.bias) == pytest.approx((0.145, 0.07))
    assert accuracy_of([], []) is None


@pytest.mark.parametrize("name", ["roofline", "two-way", "ridge"])
def test_a_baseline_knows_its_law(name: str) -> None:
    known = [law(model, device, 4) for model in MODELS for device in SPEEDS][:-1]
    hidden = law("net-5", "small", 4)
    (value,) = PREDICTION_BASELINES[name](LATENCY, known, [hidden.placement])
    assert value == pytest.approx(hidden.value, rel=0.2 if name == "ridge" else 1e-6)


def test_hidden_groups_are_asked_about_once_and_counted() -> None:
    examples = [
        law(model, device, batch) for model in MODELS for device in SPEEDS for batch in (1, 4)
    ]
    tried = cross_validated(LATENCY, examples, "pair")
    questions = [one.example for one in tried.trial.answered]
    assert len(questions) == len(set(questions)) == 2 * tried.groups > 0
    assert set(tried.trial.baselines) == set(PREDICTION_BASELINES)
    assert cross_validated(LATENCY, examples[:3], "device").trial.answered == ()


@pytest.mark.parametrize(
    ("devices", "backends"), [(("one",), ("cuda",)), (("one", "two"), ("cuda", "cpu"))]
)
def test_a_chart_tells_backends_apart_or_else_devices(
    devices: tuple[str, ...], backends: tuple[str, ...]
) -> None:
    prediction = Prediction(0.002, 0.001, 0.004, "pair", ())
    answered = [
        AnsweredQuestion(an_example(0.001, device=device), prediction, {}) for device in devices
    ]
    chart = accuracy_chart(PredictionTrial(tuple(answered)), LATENCY, "hidden")
    assert chart is not None
    assert chart.backends == backends
    points = chart.drawn(PAPER)["data"]["values"]
    assert [(one["measured"], one["value"], one["interval"]) for one in points] == [
        (1.0, 2.0, "1 ms to 4 ms") for _ in devices
    ]
    assert accuracy_chart(PredictionTrial(), LATENCY, "hidden") is None
