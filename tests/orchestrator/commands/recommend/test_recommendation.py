"""Recommendations from a small database: what is ranked, what is left out, and why."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.predict.predictor import NoPrediction, Prediction
from analysis.recommend.choices import Choice
from analysis.recommend.service_levels import parse_service_level
from orchestrator.commands.predict.stored_predictor import ReadyForecaster
from orchestrator.commands.recommend.answer import (
    CandidateRequest,
    Recommendation,
    RecommendationRequest,
    recommend_cells,
)
from orchestrator.commands.recommend.table import recommendation_sheet
from orchestrator.commands.recommend.words import next_words, trust_words
from orchestrator.screen.sheet import ON_SCREEN, print_sheet
from orchestrator.store.store import Store
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.models import catalogue
from tests.support.databases import write_records
from tests.support.records import a_failure, a_record
from tests.support.terminal import a_terminal, shown

MS = 1_000_000
LIMITED = '{"limits": {"memory_bytes": 2000000000}}'
GRAPH = {"runtime": "onnxruntime"}
RECORDS = [
    a_record(latency_median_s=0.010, memory_peak_bytes=500_000_000, grade="A"),
    a_record(latency_median_s=0.030, memory_peak_bytes=900_000_000, grade="A", batch_size=4),
    a_record(
        **GRAPH,
        durations_ns=[5 * MS + 1000 * step for step in range(200)],
        memory_peak_bytes=200_000_000,
        grade="A",
        latency_p95_s=0.00518905,
        latency_p95_low_s=0.00518,
        latency_p95_high_s=0.005199,
        percentile_iterations_needed={"p95": 130},
        effective_iterations=200.0,
    ),
    a_record(precision="int8", latency_median_s=0.002, correct=False, correct_reason="off by 90 %"),
    a_record(precision="fp16", latency_median_s=0.001, proof="none"),
    a_failure("out_of_memory", "killed", **GRAPH, batch_size=8, job=LIMITED),
    a_failure("failed", "out of luck", precision="bf16"),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two paths that work, and verdicts against others; open, which spares each question that."""
    path = write_records(tmp_path_factory.mktemp("recommending"), RECORDS)
    with Store.open_readonly(path):
        yield path


def asked(database: Path, *, model: str = "bert-tiny", **changes: Any) -> Recommendation:
    axes = {"model": (model,)} | changes.pop("axes", {})
    return recommend_cells(RecommendationRequest(database, CandidateRequest(axes), **changes))


def only(answer: Recommendation) -> Choice:
    (choice,) = answer.choices
    return choice


def names(choice: Choice) -> list[str]:
    assert choice.ranking is not None
    return [row.candidate.cell.id for row in choice.ranking.rows]


def reasons(choice: Choice) -> Mapping[str, str]:
    return {
        one.candidate.cell.id: f"{one.objection.kind}: {one.objection.reason}"
        for one in choice.left_out
    }


@pytest.fixture(scope="module")
def answer(database: Path) -> Recommendation:
    return asked(database)


@pytest.fixture(scope="module")
def plain(answer: Recommendation) -> Choice:
    return only(answer)


@pytest.fixture(scope="module")
def machine(answer: Recommendation) -> str:
    """The key of the machine that all results are of."""
    return answer.machines[0].key


def test_what_was_measured_is_ranked_without_a_predictor(plain: Choice) -> None:
    assert names(plain) == [
        "cpu-onnxruntime-bert-tiny-fp32-b1-s128-inference",
        "cpu-bert-tiny-fp32-b1-s128-inference",
        "cpu-bert-tiny-fp32-b4-s128-inference",
    ]
    assert plain.ranking is not None
    assert plain.ranking.first.figure.value == pytest.approx(5.1, abs=0.01)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("cpu-bert-tiny-int8-b1", "wrong: outputs wrong: off by 90 %"),
        ("cpu-bert-tiny-fp16-b1", "wrong: nothing proves which device did the work"),
        ("cpu-bert-tiny-bf16-b1", "failed: failed: out of luck"),
        ("cpu-onnxruntime-bert-tiny-fp32-b8", "out_of_memory: ran out of memory under a limit"),
        (
            "cpu-onnxruntime-bert-tiny-fp32-b64",
            "out_of_memory: ran out of memory at b8-s128 under a limit of 2 GB",
        ),
        ("cpu-onnxruntime-bert-tiny-fp32-b2", "not_known: there is no predictor to ask"),
        ("cpu-torch_compile-bert-tiny-int8-b1", "unsupported: int8 is not possible with"),
    ],
)
def test_every_candidate_that_is_left_out_has_its_reason(
    plain: Choice, cell: str, reason: str
) -> None:
    assert reasons(plain)[f"{cell}-s128-inference"].startswith(reason)


def test_a_level_keeps_those_that_are_known_to_meet_it(database: Path) -> None:
    choice = only(asked(database, level=parse_service_level("p95<6ms")))
    assert names(choice) == ["cpu-onnxruntime-bert-tiny-fp32-b1-s128-inference"]
    assert choice.ranking is not None
    assert choice.ranking.first.chance is not None
    assert choice.ranking.first.chance.share == 1.0
    median = reasons(choice)["cpu-bert-tiny-fp32-b1-s128-inference"]
    assert median == "too_slow: median 10 ms, 67 % over the limit, and p95 is no shorter"
    larger = reasons(choice)["cpu-bert-tiny-fp32-b4-s128-inference"]
    assert larger == "too_slow: median 30 ms, 5 times the limit, and p95 is no shorter"
    strict = only(asked(database, level=parse_service_level("p95<5.15ms")))
    slow = reasons(strict)["cpu-onnxruntime-bert-tiny-fp32-b1-s128-inference"]
    assert slow.startswith(
        "too_slow: p95 5.19 ms, 0.8 % over the limit; the chance of p95 < 5.15 ms is "
    )


def test_all_that_fits_is_ranked_by_the_objective(database: Path) -> None:
    for objective in (None, "throughput"):
        answer = asked(database, memory_bytes=1_000_000_000, objective=objective)
        assert names(only(answer)) == [
            "cpu-onnxruntime-bert-tiny-fp32-b1-s128-inference",
            "cpu-bert-tiny-fp32-b4-s128-inference",
            "cpu-bert-tiny-fp32-b1-s128-inference",
        ]
    lower = only(asked(database, memory_bytes=600_000_000))
    assert "cpu-bert-tiny-fp32-b1-s128-inference" in names(lower)
    assert reasons(lower)["cpu-bert-tiny-fp32-b64-s128-inference"] == (
        "does_not_fit: took at b4-s128 900 MB, 50 % over 600 MB"
    )


def test_what_ran_under_a_limit_fits_it_whatever_its_peak(tmp_path: Path) -> None:
    record = a_record(memory_peak_bytes=2_100_000_000, grade="A", job=LIMITED)
    database = write_records(tmp_path, [record])
    assert names(only(asked(database, memory_bytes=2_000_000_000))) == [record.cell_id]
    short = reasons(only(asked(database, memory_bytes=1_900_000_000)))[record.cell_id]
    assert short == "does_not_fit: took 2.1 GB, 11 % over 1.9 GB"


def test_costs_need_a_price_for_the_device(database: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\nhardware: {example cpu: {per_hour: 0.36}}\n")
    choice = only(asked(database, prices=prices))
    assert choice.ranking is not None
    rate = 1000 / 5.1
    assert choice.ranking.first.figure.value == pytest.approx(1e6 * 0.0001 / rate, rel=0.01)
    prices.write_text("currency: EUR\nbackends: {cuda: {per_hour: 9}}\n")
    nothing = only(asked(database, prices=prices))
    assert nothing.ranking is None
    assert reasons(nothing)["cpu-bert-tiny-fp32-b1-s128-inference"].startswith("no_price: no price")
    with pytest.raises(UsageError, match="needs the prices of devices"):
        asked(database, objective="cost")


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"hardware": ("H100",)}, UsageError, "nothing was measured on 'H100'"),
        ({"axes": {"backend": ("cuda",)}}, NothingToDo, "nothing was measured on backend cuda"),
        ({"axes": {"runtime": ("openvino",)}}, UsageError, "--runtime: openvino executes on none"),
        ({"axes": {"mode": ("startup",)}}, UsageError, "--mode: 'startup' is not compared"),
        ({"model": "bert-tyni"}, UsageError, "no model 'bert-tyni'; did you mean bert-tiny"),
        ({"axes": {"model": ()}}, UsageError, "recommend: name the models by exactly one of"),
    ],
)
def test_questions_without_an_answer_are_refused(
    database: Path, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        asked(database, **changes)


class EveryBatchTakesAsLong:
    """Stands for a forecaster: seconds by precision, and a hundred megabytes a sample."""

    SECONDS: Mapping[str, float] = {"fp32": 0.02, "int8": 0.0005}

    def __init__(self, machine: str, groups: int = 99) -> None:
        self.known = SimpleNamespace(groups=groups, novelty="model")
        self.machines = (SimpleNamespace(key=machine),)
        self.predictors = {
            name: SimpleNamespace(examples={"accelmatrix": 7}, calibration=lambda _: self.known)
            for name in ("latency", "throughput", "memory", "energy")
        }

    def forecast(
        self, cells: Sequence[Cell], models: object, target: str, machine: object
    ) -> list[Prediction | NoPrediction]:
        return [self._answer(cell, target) for cell in cells]

    def _answer(self, cell: Cell, target: str) -> Prediction | NoPrediction:
        seconds = self.SECONDS.get(cell.precision)
        if seconds is None:
            return NoPrediction(f"precision {cell.precision}: nobody measured any")
        values = {
            "latency": seconds,
            "throughput": cell.batch_size / seconds,
            "memory": 1e8 * cell.batch_size,
            "energy": seconds,
        }
        value = values[target]
        outside = ("batch size 64 is above 32",) if cell.batch_size > 32 else ()
        return Prediction(value, 0.9 * value, 1.1 * value, "shape", outside)


def with_predictions(
    database: Path, machine: str, *, groups: int = 99, **changes: Any
) -> Recommendation:
    def load(*_: object) -> ReadyForecaster:
        return ReadyForecaster(EveryBatchTakesAsLong(machine, groups))  # type: ignore[arg-type]

    axes = {"model": ("bert-tiny",), "runtime": ("onnxruntime",), **changes.pop("axes", {})}
    request = RecommendationRequest(database, CandidateRequest(axes), **changes)
    return recommend_cells(request, load)


def test_what_nobody_measured_is_predicted(database: Path, machine: str) -> None:
    answer = with_predictions(database, machine)
    choice = only(answer)
    assert choice.ranking is not None
    first = choice.ranking.first
    assert first.candidate.cell.id == "cpu-onnxruntime-bert-tiny-int8-b1-s128-inference"
    assert (first.figure.basis, first.figure.value) == ("predicted", 0.5)
    assert answer.examples == {"accelmatrix": 7}
    batches = {row.candidate.cell.batch_size for row in choice.ranking.extrapolated}
    assert batches == {64, 128, 256}


def test_predicted_joules_are_of_their_machines_scope(tmp_path: Path, machine: str) -> None:
    drew = {"energy_per_sample_joules": 4.0, "energy_scope": "package"}
    database = write_records(tmp_path, [a_record(**GRAPH, **drew)])
    choice = only(with_predictions(database, machine, objective="energy"))
    assert choice.ranking is not None
    scopes = {(row.figure.basis, row.figure.scope) for row in choice.ranking.rows}
    assert scopes == {("measured", "package"), ("predicted", "package")}


def test_predicted_memory_counts_by_the_upper_end_of_its_interval(
    database: Path, machine: str
) -> None:
    choice = only(with_predictions(database, machine, memory_bytes=1_000_000_000))
    assert choice.ranking is not None
    cells = [row.candidate.cell for row in choice.ranking.rows if row.memory]
    sizes = {
        name: max(cell.batch_size for cell in cells if cell.precision == name)
        for name in ("fp32", "int8")
    }
    assert sizes == {"fp32": 7, "int8": 8}, "fp32 ran out of memory at 8; of 10 one in ten may"
    over = reasons(choice)["cpu-onnxruntime-bert-tiny-int8-b10-s128-inference"]
    assert over == "does_not_fit: may take up to 1.1 GB, 10 % over 1 GB"


def test_memory_is_not_promised_by_the_errors_of_few_models(database: Path, machine: str) -> None:
    choice = only(with_predictions(database, machine, groups=7, memory_bytes=1_000_000_000))
    unknown = reasons(choice)["cpu-onnxruntime-bert-tiny-int8-b1-s128-inference"]
    assert unknown == "fit_unknown: its errors are known from 7 models alone, not 10"


def test_a_predicted_level_needs_cells_like_it(database: Path, machine: str) -> None:
    choice = only(with_predictions(database, machine, level=parse_service_level("p99<1s")))
    unknown = reasons(choice)["cpu-onnxruntime-bert-tiny-int8-b2-s128-inference"]
    assert unknown.startswith("slo_unknown: the spread of durations takes at least 3 measured")


LONG = tuple(sorted(catalogue(), key=len)[-3:])


@pytest.mark.parametrize("models", [LONG[:1], LONG])
def test_a_prediction_keeps_its_interval_and_mark_at_80_columns(
    database: Path, machine: str, capsys: pytest.CaptureFixture[str], models: Sequence[str]
) -> None:
    axes = {"model": models, "batch_size": ("64", "128")}
    answer = with_predictions(database, machine, axes=axes)
    with a_terminal(80):
        print_sheet(recommendation_sheet(answer, ON_SCREEN))
    lines = shown(capsys.readouterr().out, 80)
    extrapolated = [line for line in lines if "predicted" in line and "–" in line]
    assert len(extrapolated) >= len(models)
    assert all(re.search(r"[\d.,]+–[\d.,]+ \?", line) for line in extrapolated), lines


def test_grade_d_is_marked_and_counted(tmp_path: Path) -> None:
    answer = asked(write_records(tmp_path, [a_record(grade="D"), a_record(grade="A", **GRAPH)]))
    table = recommendation_sheet(answer, ON_SCREEN).tables[0]
    assert sorted(row["basis"] for row in table.rows) == ["grade D", "measured"]
    assert "candidates: 2 measured (95 % intervals, 1 of them of grade D)" in [*trust_words(answer)]


def test_no_cell_that_is_surely_too_slow_is_proposed(database: Path, machine: str) -> None:
    slow = asked(database, level=parse_service_level("p95<1ms"))
    assert not any("--profile standard" in words for words in next_words(slow))
    level = parse_service_level("p95<0.01ms")
    open_ = with_predictions(database, machine, level=level, axes={"precision": ("int8",)})
    assert {one.objection.kind for one in only(open_).left_out} >= {"too_slow"}
    assert not any("--profile standard" in words for words in next_words(open_))
