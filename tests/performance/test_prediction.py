"""The acceptance evaluation: folds that hide groups, work of operators, bars and their misses."""

from collections import defaultdict

import pytest

from analysis.predict.examples.placements import Example
from analysis.predict.predictor import Prediction
from analysis.predict.trials import AnsweredQuestion, PredictionTrial
from performance.prediction.__main__ import main
from performance.prediction.bars import Bar, SplitRow, print_row
from performance.prediction.timm import (
    TimmResults,
    families_with_one_run,
    hidden_pairs,
    unseen_families,
)
from tests.analysis.predict.examples import an_example


@pytest.fixture(scope="module")
def results() -> TimmResults:
    """Forty models of four families on two GPUs, at two batch sizes."""
    examples = [
        an_example(100.0, model=f"net{number % 4}-{number}", device=device, batch_size=batch)
        for number in range(40)
        for device in ("one", "two")
        for batch in (32, 64)
    ]
    return TimmResults(examples, {}, {})


def test_hidden_pairs_are_unknown_and_their_models_known(results: TimmResults) -> None:
    for fold in hidden_pairs(results):
        known = {(one.placement.model, one.placement.device.key) for one in fold.known}
        hidden = {(one.placement.model, one.placement.device.key) for one in fold.hidden}
        assert hidden
        assert not known & hidden
        assert {model for model, _ in hidden} <= {model for model, _ in known}


def test_a_hidden_family_has_one_run_at_most(results: TimmResults) -> None:
    for fold in unseen_families(results):
        assert not _families(fold.known) & _families(fold.hidden)
    for fold in families_with_one_run(results):
        known, hidden = _devices_by_model(fold.known), _devices_by_model(fold.hidden)
        assert all(
            len(known[model]) == 1 and devices != known[model] for model, devices in hidden.items()
        )


def _families(examples: "list[Example] | tuple[Example, ...]") -> set[str]:
    return {one.placement.architecture for one in examples}


def _devices_by_model(examples: "list[Example]") -> dict[str, set[str]]:
    devices = defaultdict(set)
    for one in examples:
        devices[one.placement.model].add(one.placement.device.key)
    return devices


def a_row(
    predicted: float, high: float, *, marked: bool = False, bar: Bar | None = None
) -> SplitRow:
    prediction = Prediction(predicted, 0.5, high, "pair", ("it is far away",) if marked else ())
    answers = [AnsweredQuestion(an_example(1.0), prediction, {"two-way": 3.0, "ridge": 1.0})] * 60
    trial = PredictionTrial(tuple(answers))
    return SplitRow("pair", "hidden pair", bar or Bar(0.2), {"fold 1": trial}, {"GPU": trial})


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        (a_row(1.1, 2.0, marked=True), set()),
        (a_row(1.3, 2.0, marked=True), {"MAPE"}),
        (a_row(1.1, 0.9), {"coverage", "coverage, GPU", "coverage, fold 1"}),
        (a_row(1.1, 2.0), {"coverage"}),  # all of them hold: too wide
        (
            a_row(1.1, 2.0, marked=True, bar=Bar(0.2, 0.05, 1.0, by_two_way=0.01)),
            {"median APE", "within 10 %", "MAPE by that of two-way"},
        ),
        (a_row(1.1, 2.0, bar=Bar(0.2, half_width=1.5)), {"coverage", "half-width"}),
    ],
)
def test_bars_are_missed_by_name(
    row: SplitRow, missed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert {check.name for check in row.checks if not check.held} == missed
    assert print_row(row) == (not missed)
    assert capsys.readouterr().out.count("MISSED") == len(missed)


def test_without_data_the_evaluation_says_what_it_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ACCELMATRIX_TEST_DATA", raising=False)
    monkeypatch.setattr("sys.argv", ["prediction", "hidden_pair", "speed"])
    assert main() == 0
    assert "not there: hidden_pair, speed" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["prediction", "unseen_moon"])
    assert main() == 2
