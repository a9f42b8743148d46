"""Questions in fp16 where only autocast was measured: answered from it, and marked."""

from dataclasses import replace

import pytest

from analysis.predict.examples.placements import PREDICTION_TARGETS, Example, Placement
from analysis.predict.explanation import Explanation, explanation_of
from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor, train_target
from tests.analysis.predict.examples import a_placement, peak_seconds

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
