"""Results side by side on a noisy machine: every comparison takes their rounds, and says so."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.compare.compare import ComparedValue
from analysis.report.comparisons import comparison_table
from analysis.report.report import reported_results
from analysis.results.selection import Selection
from orchestrator.commands.compare.answer import compare_results
from orchestrator.commands.compare.table import comparison_sheet
from orchestrator.commands.recommend.answer import (
    CandidateRequest,
    RecommendationRequest,
    recommend_cells,
)
from orchestrator.commands.recommend.table import recommendation_document
from orchestrator.commands.recommend.words import answer_words
from orchestrator.commands.results.answer_words import answer_lines
from orchestrator.commands.results.run_report import report_runs
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.sheet import ON_SCREEN
from orchestrator.store.query.filters import Filters
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import NOISY
from tests.support.side_by_side import a_candidate, paced_rounds

RUN = "20261121-120000-aaaa"
TIMES = {"torch": 0.0100, "onnxruntime": 0.0080, "torch_compile": 0.0081}
ROUNDS = 6
DOUBTFUL = {"run_id": RUN, "grade": "D", "doubts": [replace(NOISY, grade="D")]}
ONE_QUESTION = Filters(batch_size=1, sequence_length=128)


def candidate(runtime: str, batch: int = 1, **changes: Any) -> Record:
    rounds = paced_rounds(batch * TIMES[runtime], ROUNDS, seed=len(runtime) + batch, batch=batch)
    return a_candidate(rounds, **DOUBTFUL | {"runtime": runtime, "batch_size": batch} | changes)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Results of grade D, of which all but two were measured side by side, one with a fault."""
    alone = {"side_by_side": None, "looks": None}
    records = [
        *(candidate(name, batch) for name in TIMES for batch in (1, 4)),
        candidate("onnxruntime", precision="int8", correct=False),
        candidate("torch", sequence_length=64, **alone),
        candidate("onnxruntime", sequence_length=64, **alone),
    ]
    path = write_records(tmp_path_factory.mktemp("side-by-side"), records)
    with Store.open_readonly(path):
        yield path


def compared(database: Path, metric: str = "latency", **options: Any) -> dict[str, ComparedValue]:
    request = SelectionRequest(database, ONE_QUESTION, **options)
    by = "precision" if options else "runtime"
    (group,) = compare_results(request, by, metric=metric).groups
    return {str(row.name): row for row in group.rows}


@pytest.mark.parametrize("metric", ["latency", "throughput"])
def test_a_comparison_takes_the_rounds_whatever_the_grades(database: Path, metric: str) -> None:
    rows = compared(database, metric)
    for name in ("onnxruntime", "torch_compile"):
        row = rows[name]
        assert row.outcome is not None
        assert (row.outcome.kind, row.outcome.rounds) == ("better", ROUNDS)
        assert row.speedup == pytest.approx(TIMES["torch"] / TIMES[name], rel=0.01)
        assert row.pair is not None
        assert row.pair.between < 0.02
        assert row.pair.within is not None
        assert row.pair.within < 0.05
    assert rows["torch"].pair is None


def test_without_rounds_a_comparison_keeps_to_its_grades(database: Path) -> None:
    apart = SelectionRequest(database, Filters(sequence_length=64))
    (group,) = compare_results(apart, "runtime").groups
    assert [row.outcome and row.outcome.because for row in group.rows] == [None, "grade_d"]
    for row in compared(database, "memory").values():
        assert row.pair is None
        assert row.outcome is None or row.outcome.kind == "undecided"


def test_what_must_not_be_quoted_is_refused_however_certain_the_ratio(database: Path) -> None:
    request = SelectionRequest(
        database, Filters(runtime="onnxruntime", batch_size=1, sequence_length=128), unquotable=True
    )
    (group,) = compare_results(request, "precision").groups
    outcome = {str(row.name): row.outcome for row in group.rows}["int8"]
    assert outcome is not None
    assert (outcome.kind, outcome.because, outcome.rounds) == ("undecided", "unquotable", ROUNDS)


def test_compare_says_in_how_many_rounds_and_how_they_vary(database: Path) -> None:
    comparison = compare_results(SelectionRequest(database, ONE_QUESTION), "runtime")
    sheet = comparison_sheet(comparison, ON_SCREEN)
    notes = " ".join(sheet.notes)
    assert "times as good as torch" in notes
    assert notes.count(f"faster, side by side in {ROUNDS} rounds.") == 2
    (table,) = sheet.tables
    (field,) = (one for one in table.fields if one.name == "side_by_side_rounds")
    assert [field.shown(row[field.name]) for row in table.rows] == [None, *["6 rounds"] * 2]
    first, *others = sheet.data["rows"]
    names = ("side_by_side_rounds", "spread_between_rounds", "spread_within_rounds")
    assert [first[name] for name in names] == [None] * 3
    for row in others:
        assert row["side_by_side_rounds"] == ROUNDS
        assert 0 < row["spread_between_rounds"] < row["spread_within_rounds"] < 0.05
        assert row["undecided_because"] is None


def test_a_report_has_the_outcome_and_the_noise_of_rounds(database: Path) -> None:
    with Store.open_readonly(database) as store:
        results = reported_results(store, Selection("sequence_length = 128"))
        table = comparison_table(results, "runtime", "By runtime")
    words = f"side by side in {ROUNDS} rounds"
    assert [row["outcome"] for row in table.rows[:3]] == [None, *[f"faster, {words}"] * 2]
    assert {"between", "within"} <= {field.name for field in table.fields}
    assert all(row["between"] < row["within"] < 0.05 for row in table.rows[1:3])
    assert table.answers[0].endswith(f"faster in 2 of 2 (1.25 times), {words}.")


def test_charts_say_it_beside_their_points_and_in_their_sentence(database: Path) -> None:
    chosen = Selection("sequence_length = 128")
    words = f"side by side in {ROUNDS} rounds"
    with Store.open_readonly(database) as store:
        (chart,) = property_comparison(store, chosen, "runtime")
        (curve,) = size_curves(store, chosen, ["latency"])
    assert f"faster in 4 of 4 (1.23 to 1.25 times), {words}" in chart.sentence
    points = chart.spec["data"]["values"]
    assert {point["outcome"] for point in points} == {f"faster, {words}"}
    assert curve.sentence.startswith("At batch 4 the lowest median latency")
    assert f"{words}." in curve.sentence


def test_the_best_is_recommended_by_rounds_whatever_the_grades(database: Path) -> None:
    candidates = CandidateRequest({"model": ("bert-tiny",), "sequence_length": ("128",)})
    answer = recommend_cells(RecommendationRequest(database, candidates, objective="latency"))
    (choice,) = answer.choices
    assert choice.ranking is not None
    assert choice.ranking.first.candidate.cell.runtime == "onnxruntime"
    words = answer_words(answer, choice.ranking)
    assert "grade D, which leaves" not in words
    assert f"side by side in {ROUNDS} rounds" in words
    rows = {
        (row["runtime"], row["batch_size"]): row
        for row in recommendation_document(answer)["recommended"]
    }
    assert rows["torch", 1]["outcome"] == "slower"
    assert rows["torch", 1]["side_by_side_rounds"] == ROUNDS
    assert rows["torch", 4]["undecided_because"] == "grade_d"


def test_the_answer_of_the_run_says_it(database: Path) -> None:
    (report,) = report_runs("last", database).runs
    lines = [*answer_lines(report)]
    words = f"side by side in {ROUNDS} rounds"
    assert any("times as fast as" in line and words in line for line in lines)
    (fastest,) = (one["fastest"] for one in report.data()["answers"] if one["fastest"])
    assert fastest["next"]["side_by_side_rounds"] == ROUNDS
    assert fastest["next"]["outcome"] == "faster"
