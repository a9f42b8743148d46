"""Models that no job can count: answered by a sibling's work with a mark, else refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.predict.predictor import NoPrediction, Prediction
from orchestrator.commands.predict import cells
from orchestrator.commands.predict.cells import ModelCounts, PossibleCells
from orchestrator.commands.predict.questions import forecast_cells
from runner.contract.models import ModelSpec, find
from tests.support.jobs import fake_cell

REASON = "shapes follow from values"
BERT = find("bert-base-uncased")


class AnsweringForecaster:
    """A forecaster that knows the answer to everything it is asked."""

    machines = (SimpleNamespace(key="here", name="here", backends=("cpu",)),)

    def machine_of(self, _: str) -> Any:
        return self.machines[0]

    def forecasts(self, cells: Any, *_: Any) -> Any:
        return {"latency": [Prediction(1.0, 0.5, 2.0, "family", ())] * len(cells)}


def asked(model: ModelSpec, monkeypatch: pytest.MonkeyPatch, folder: Path) -> PossibleCells:
    """A question about a model that a job failed to count."""
    counts = {model.name: ModelCounts(None, REASON)}
    monkeypatch.setattr(cells, "_counted", lambda *_: counts)
    cell = fake_cell(model=model.name, backend="cpu", runtime="torch")
    possible = PossibleCells(((cell, None),), {model.name: model})
    return cells.counted_cells(possible, folder, cells.unheard_notice)


def test_a_sibling_answers_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BERT.model_copy(update={"name": "mine", "forward": {"use_cache": False}})
    possible = asked(model, monkeypatch, tmp_path)
    assert possible.uncounted == {}
    (one,) = forecast_cells(AnsweringForecaster(), possible, ("latency",))  # type: ignore[arg-type]
    answer = one.answers["latency"]
    assert isinstance(answer, Prediction)
    assert answer.extrapolates
    assert f"the work of mine is not counted ({REASON}); it is taken from" in answer.outside[0]
    assert BERT.name in answer.outside[0]


def test_without_a_sibling_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BERT.model_copy(update={"name": "mine", "config": {"model_type": "swin"}})
    possible = asked(model, monkeypatch, tmp_path)
    assert possible.guessed == {}
    (one,) = forecast_cells(AnsweringForecaster(), possible, ("latency",))  # type: ignore[arg-type]
    assert one.answers["latency"] == NoPrediction(f"the work of mine is not counted: {REASON}")
