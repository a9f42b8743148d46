"""Predicted seconds stand in the place of arithmetic, and predicted memory skips nothing."""

from collections.abc import Mapping, Sequence

import pytest

from orchestrator.backends.machine import Machine
from orchestrator.planning.estimate import CellForecast, KnownSpeeds
from orchestrator.planning.plan import Plan, make_plan
from orchestrator.store.query.results import CellSpeed
from runner.contract.cell import Cell
from runner.contract.errors import StoreError
from runner.contract.models import ModelSpec
from tests.support.matrices import matrix_of

AXES = {"model": "bert-tiny", "batch_size": [1, 2, 4]}
MEASURED = {"cpu-bert-tiny-fp32-b1-s128-inference": CellSpeed(iteration_s=0.01, load_s=5.0)}
GIB = 1 << 30


def forecast(cells: Sequence[Cell], models: Mapping[str, ModelSpec]) -> list[CellForecast]:
    """Half a second for a batch of two, which takes 3 GiB; nothing is known of others."""
    assert {cell.model for cell in cells} <= models.keys()
    return [
        CellForecast(0.5, 3 * GIB) if cell.batch_size == 2 else CellForecast() for cell in cells
    ]


def planned(memory_bytes: int | None = None, **limits: str) -> Plan:
    matrix = matrix_of(AXES, measure={"profile": "quick"}, limits=limits)
    speeds = KnownSpeeds(MEASURED, forecast)
    return make_plan(matrix, speeds=speeds, machine=Machine(memory_bytes=memory_bytes))


def test_what_was_measured_comes_before_predictions_and_these_before_arithmetic() -> None:
    plan = planned()
    plain = make_plan(matrix_of(AXES, measure={"profile": "quick"}))
    assert [one.estimated_by for one in plan.entries] == ["measured", "predicted", "arithmetic"]
    assert {one.estimated_by for one in plain.entries} == {"arithmetic"}
    least = 0.5 * plan.measure["cpu"].iterations
    assert plan.entries[1].estimate_s > plain.entries[1].estimate_s + least
    assert plan.entries[2].estimate_s == plain.entries[2].estimate_s


@pytest.mark.parametrize(
    ("memory_bytes", "limits", "allowed"),
    [
        (2 * GIB, {}, "2GiB"),
        (None, {"memory": "1GiB"}, "1GiB"),
        (8 * GIB, {}, None),
        (None, {}, None),
    ],
)
def test_predicted_memory_is_a_remark(
    memory_bytes: int | None, limits: dict[str, str], allowed: str | None
) -> None:
    plan = planned(memory_bytes, **limits)
    assert {one.decision for one in plan.entries} == {"run"}
    notes = [note for note in plan.notes if "may run out of memory" in note]
    assert len(notes) == (allowed is not None)
    if allowed:
        assert "-b2-s128-inference may run out of memory: 3GiB are predicted" in notes[0]
        assert f"{allowed} may be used" in notes[0]


def test_a_predictor_that_cannot_be_used_is_a_note() -> None:
    def damaged(cells: object, models: object) -> list[CellForecast]:
        raise StoreError("benchmarks.duckdb.predictor: latency.json was altered")

    plan = make_plan(matrix_of(AXES), speeds=KnownSpeeds(forecast=damaged))
    assert {one.estimated_by for one in plan.entries} == {"arithmetic"}
    (note,) = plan.notes
    assert note.startswith("seconds are not predicted: benchmarks.duckdb.predictor: latency.json")
