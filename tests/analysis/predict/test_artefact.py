"""A predictor as files: what comes back predicts the same, and what is altered is refused."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine
from analysis.predict.forecaster import Forecaster, predictor_files, read_forecaster
from analysis.predict.manifest import MANIFEST_NAME, TrainingOrigin, predictor_manifest, text_digest
from analysis.predict.novelty import Novelty
from analysis.predict.predictor import Prediction, train_target
from runner.contract.errors import DamagedFile
from tests.analysis.predict.examples import a_placement, an_example, peak_seconds

Files = dict[str, str]
TREES = "latency-model.json"
NOVELTIES: tuple[Novelty, ...] = ("shape", "model", "family", "device")
QUESTIONS = [
    a_placement("net-1", "big", 6, 1.0),
    a_placement("net-9", "big", 4, 3.0),
    a_placement("net-1", "unknown", 4, 1.0),
]


@dataclass(frozen=True)
class Written:
    forecaster: Forecaster
    files: Files

    @property
    def digest(self) -> str:
        return text_digest(self.files[MANIFEST_NAME])


@pytest.fixture(scope="module")
def written() -> Written:
    facts = [
        {"model": f"net-{number}", "device": device, "batch_size": batch, "work": float(number)}
        for number in range(1, 7)
        for device in ("big", "small")
        for batch in (1, 2, 3, 4, 6, 8)
    ]
    seconds = [
        1e-4 + (2 + index % 3) * peak_seconds(a_placement(**one)) for index, one in enumerate(facts)
    ]  # type: ignore[arg-type]
    predictors = {}
    for name, values in (
        ("latency", seconds),
        (
            "throughput",
            [one["batch_size"] / value for one, value in zip(facts, seconds, strict=True)],
        ),  # type: ignore[operator]
    ):
        examples = [an_example(value, **one) for one, value in zip(facts, values, strict=True)]
        predictor = train_target(PREDICTION_TARGETS[name], examples, NOVELTIES)
        assert predictor is not None
        predictors[name] = predictor
    machine = KnownMachine(
        "big", "Big GPU", ("cuda",), {"fp32": QUESTIONS[0].device}, {("cuda", "torch"): "2.4"}, None
    )
    forecaster = Forecaster(predictors, (machine,))
    origin = TrainingOrigin(
        accelmatrix="0.1",
        schema_version=8,
        trained_at=datetime.now(UTC),
        database="a.duckdb",
        sources="ours",
        rows={"run": 72},
        rows_digest="0" * 64,
        doubtful=1,
        left_out={"no work": 3},
    )
    return Written(forecaster, predictor_files(forecaster, origin))


def read(files: Files, *targets: str, digest: str | None) -> Forecaster:
    manifest = predictor_manifest(files.__getitem__, digest, DamagedFile)
    return read_forecaster(manifest, files.__getitem__, DamagedFile, targets or None)


def ask(forecaster: Forecaster, target: str = "latency") -> list[float]:
    """Everything that is predicted of the questions, which makes all files be read."""
    answers = forecaster.predictors[target].predict(QUESTIONS)
    known = [one for one in answers if isinstance(one, Prediction)]
    return [value for one in known for value in (one.value, one.low, one.high)]


@pytest.mark.parametrize("target", ["latency", "throughput"])
def test_what_was_read_predicts_what_was_written(written: Written, target: str) -> None:
    copy = read(written.files, digest=written.digest)
    assert ask(copy, target) == ask(written.forecaster, target)
    assert copy.machines == written.forecaster.machines
    original, predictor = written.forecaster.predictors[target], copy.predictors[target]
    for part in ("expectations", "trees"):
        assert dict(getattr(predictor, part)) == getattr(original, part)
    assert (predictor.seen, predictor.domain) == (original.seen, original.domain)


def test_a_question_reads_only_what_it_needs(written: Written) -> None:
    names: list[str] = []

    def count(name: str) -> str:
        names.append(name)
        return written.files[name]

    manifest = predictor_manifest(written.files.__getitem__, written.digest, DamagedFile)
    forecaster = read_forecaster(manifest, count, DamagedFile, ["latency"])
    forecaster.predictors["latency"].predict([QUESTIONS[1]])
    assert {name.partition("-")[0].partition(".")[0] for name in names} == {"machines", "latency"}
    assert not any("shape" in name for name in names)


@pytest.mark.parametrize("name", ["latency.json", "machines.json", TREES])
def test_an_altered_file_is_refused(written: Written, name: str) -> None:
    altered = {**written.files, name: written.files[name].replace("1", "2", 1)}
    with pytest.raises(DamagedFile, match=re.escape(f"{name} is not what {MANIFEST_NAME} says")):
        ask(read(altered, digest=written.digest))
