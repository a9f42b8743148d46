"""Examples that follow a simple law, so that what should be predicted of them is known."""

from analysis.predict.examples.placements import Counts, Device, Example, Placement
from analysis.predict.manifest import KeptEvaluation, kept_trial
from analysis.predict.predictor import Prediction
from analysis.predict.trials import AnsweredQuestion, NoveltyTrial, PredictionTrial
from tests.support.records import RECORDED_AT

PEAK_FLOPS, PEAK_BYTES = 1e12, 1e11


def a_placement(
    model: str = "net-1", device: str = "big", batch_size: int = 1, work: float = 1.0
) -> Placement:
    """A placement with so many GFLOP a sample."""
    flops = work * batch_size * 1e9
    return Placement(
        model=model,
        architecture=model.partition("-")[0],
        device=Device(device, device, "gpu", PEAK_FLOPS, PEAK_BYTES, measured=False),
        backend="cuda",
        runtime="torch",
        precision="fp32",
        mode="inference",
        software="2.4",
        batch_size=batch_size,
        length=None,
        new_tokens=None,
        threads=None,
        counts=Counts(flops, flops / 100, flops / 50, 4e6 * work, 1e6 * work),
    )


def an_example(value: float, source: str = "accelmatrix", **facts: object) -> Example:
    return Example(a_placement(**facts), value, source)  # type: ignore[arg-type]


def an_answer(
    measured: float, predicted: float, *outside: str, **facts: object
) -> AnsweredQuestion:
    """A hidden example with a prediction whose interval reaches from two thirds to half more."""
    prediction = Prediction(predicted, predicted / 1.5, predicted * 1.5, "pair", outside)
    return AnsweredQuestion(an_example(measured, **facts), prediction, {"ridge": 2 * measured})  # type: ignore[arg-type]


def an_evaluation(
    outside: str = "batch size 16 is above 8", rows_digest: str = "0" * 64
) -> KeptEvaluation:
    """An evaluation of latencies: one is predicted well, one is an extrapolation and far off."""
    answers = (an_answer(1.0, 1.08), an_answer(1.0, 3.0, outside, batch_size=16))
    tried = NoveltyTrial("pair", PredictionTrial(answers), groups=2, folds=(1, 5))
    trial = kept_trial(tried)
    assert trial is not None
    return KeptEvaluation(
        evaluated_at=RECORDED_AT, rows_digest=rows_digest, targets={"latency": {"pair": trial}}
    )


def peak_seconds(placement: Placement) -> float:
    """The time that its counted work takes at the device's peaks."""
    counts = placement.counts
    traffic = counts.traffic_bytes + 2 * counts.activation_bytes
    return counts.flops / PEAK_FLOPS + traffic / PEAK_BYTES
