"""Calibration: folds that hide what a question does not know, and quantiles that count groups."""

from collections import Counter
from dataclasses import replace

import pytest

from analysis.predict.calibrated import conformal_quantile, errors_by_device
from analysis.predict.examples.placements import PREDICTION_TARGETS, Example, Placement
from analysis.predict.explanation import Explanation, explanation_of
from analysis.predict.folds import folds_of
from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor, train_target
from analysis.statistics.arrays import np
from tests.analysis.predict.examples import a_placement, peak_seconds

DEVICES = ("one", "two", "three")


@pytest.mark.parametrize(
    ("scores", "groups", "quantile"),
    [
        ([*range(1, 20)], [*range(19)], 18.0),  # ⌈20 × 0.9⌉-th of groups with one score each
        ([*range(1, 9)], [*range(8)], 8.0),  # too few to tell: the largest
        ([1.0] * 90 + [5.0] * 10, [0] * 90 + [*range(1, 11)], 5.0),  # one group's rows are one
        ([5.0, *range(20)], [0, *range(1, 21)], 17.8),  # in any order, between two scores
        ([2.0, 1.0], [0, 0], 2.0),
    ],
)
def test_a_quantile_is_that_of_a_new_group(
    scores: list[float], groups: list[int], quantile: float
) -> None:
    known = conformal_quantile(np.array(scores, float), np.array(groups))
    assert known == pytest.approx(quantile)


def test_a_model_is_hidden_on_one_device_at_a_time() -> None:
    placements = [a_placement(f"net-{n}", device) for n in range(40) for device in DEVICES]
    hidden = Counter[int]()
    for fold in folds_of(placements, "pair"):
        models = [placements[row].model for row in fold.hidden.tolist()]
        assert len(models) == len(set(models)) == fold.groups
        hidden.update(fold.hidden.tolist())
    assert hidden == Counter(range(len(placements)))


def test_an_unseen_model_on_a_device_with_few_models_is_marked() -> None:
    known = [a_placement(f"net-{n}", "big", work=1.2**n) for n in range(60)]
    few = [a_placement(f"net-{n}", "small", work=1.2**n) for n in range(5)]
    values = np.array([peak_seconds(one) for one in [*known, *few]])
    examples = [
        Example(one, float(value), "accelmatrix")
        for one, value in zip([*known, *few], values, strict=True)
    ]
    predictor = train_target(PREDICTION_TARGETS["latency"], examples)
    assert predictor is not None
    asked = [a_placement("net-x", "small"), a_placement("net-x"), a_placement("net-7", "small")]
    answers = [one for one in predictor.predict(asked) if isinstance(one, Prediction)]
    reasons = [[words for words in one.outside if "nowhere" in words] for one in answers]
    words = "the model was measured nowhere, and only 5 others on this device"
    assert reasons == [[words], [], []]


def test_a_device_that_errs_more_has_wider_intervals_the_more_results_tell_it() -> None:
    usual = [a_placement(f"net-{n}", "big") for n in range(100)]
    few = [a_placement(f"net-{n}", "small") for n in range(40)]
    scores = np.array([1.0] * 100 + [3.0] * 40)
    for tried in (1, 4, 40):
        placements, group = [*usual, *few[:tried]], np.arange(100 + tried)
        errors = errors_by_device(scores[: len(group)], group, placements, 1.0)
        assert errors["big"].widening(1.0) == pytest.approx(1.0)
        share = tried / (tried + 4)
        assert errors["small"].widening(1.2) == pytest.approx(1.2 ** (1 - share) * 3.0**share)


TARGET = PREDICTION_TARGETS["latency"]


def trained(*precisions: str) -> TargetPredictor:
    """A predictor of results in these precisions, of which each but the first is twice as slow."""
    examples = [
        Example(one, peak_seconds(one) * (1 if precision == precisions[0] else 2), "timm")
        for precision in precisions
        for batch in (1, 2, 3, 4, 8)
        for one in [placed(precision, batch)]
    ]
    predictor = train_target(TARGET, examples)
    assert predictor is not None
    return predictor


def placed(precision: str, batch_size: int = 2) -> Placement:
    return replace(a_placement(batch_size=batch_size), precision=precision)


def answer(predictor: TargetPredictor, precision: str) -> Prediction | NoPrediction:
    (one,) = predictor.predict([placed(precision)])
    return one


def test_autocast_answers_for_the_precision_that_it_computes_in() -> None:
    predictor = trained("amp", "fp32")
    asked, same = answer(predictor, "fp16"), answer(predictor, "amp")
    assert isinstance(asked, Prediction)
    assert isinstance(same, Prediction)
    assert (asked.value, asked.low, asked.high) == (same.value, same.low, same.high)
    assert "this rests on autocast (amp)" in asked.outside[0]
    explained = explanation_of(predictor, placed("fp16"))
    assert isinstance(explained, Explanation)
    assert explained.prediction == asked


@pytest.mark.parametrize(
    ("precisions", "precision"), [(("amp", "fp32"), "bf16"), (("fp32",), "fp16")]
)
def test_without_such_autocast_the_precision_is_refused(
    precisions: tuple[str, ...], precision: str
) -> None:
    refused = answer(trained(*precisions), precision)
    assert isinstance(refused, NoPrediction)
    assert f"precision {precision}: nobody measured any" in refused.reason
