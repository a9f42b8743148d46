"""The acceptance evaluation: folds that hide groups, work of operators, bars and their misses."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.predict.evaluation.trials import AnsweredQuestion, PredictionTrial
from analysis.predict.examples.placements import Example
from analysis.predict.predictor import Prediction
from performance.prediction.__main__ import main
from performance.prediction.bars import Bar, SplitRow
from performance.prediction.printing import print_row
from performance.prediction.timm import (
    TimmResults,
    at_usual_batch,
    families_with_one_run,
    gpus_with_ten_runs,
    hidden_pairs,
    unseen_families,
)
from performance.prediction.vidur import longer_inputs, read_vidur
from tests.analysis.predict.examples import an_example

SHAPES = {"n_head": 32, "n_kv_head": 8, "n_embd": 4096, "n_expanded_embd": 11008}
OPERATORS = (
    *("emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "mlp_act"),
    *("post_attention_layernorm", "mlp_up_proj", "mlp_down_proj", "add"),
)


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


def test_a_new_gpu_is_known_by_ten_models(results: TimmResults) -> None:
    for fold in gpus_with_ten_runs(results):
        models = {
            one.placement.model for one in fold.known if one.placement.device.key == fold.label
        }
        assert len(models) == 10
        assert not models & {one.placement.model for one in fold.hidden}


def test_modes_that_no_other_device_has_are_asked_beside(results: TimmResults) -> None:
    trained = [
        replace(one, placement=replace(one.placement, mode="training"))
        for one in results.examples
        if one.placement.device.key == "two"
    ]
    for fold in gpus_with_ten_runs(TimmResults([*results.examples, *trained], {}, {})):
        assert {one.placement.mode for one in fold.hidden} == {"inference"}
        assert {one.placement.mode for one in fold.beside} == (
            {"training"} if fold.label == "two" else set()
        )


def test_usual_batches_tell_nothing_of_memory(results: TimmResults) -> None:
    change = at_usual_batch(results)
    placements = [change(example).placement for example in results.examples]
    assert {placement.batch_size for placement in placements} == {48}
    assert placements[0].counts.flops == pytest.approx(48e9)


def test_work_of_operators_follows_from_their_shapes(tmp_path: Path) -> None:
    times = {f"time_stats.{name}.median": 0.5 for name in OPERATORS}
    row = {**times, **SHAPES, "use_gated_mlp": True, "num_tokens": 2048}
    row["num_tensor_parallel_workers"] = 2
    lines = (",".join(row), ",".join(map(str, row.values())))
    (tmp_path / "a40__Some__Llama__mlp.csv").write_text("\n".join(lines), "utf-8")
    examples = read_vidur(tmp_path)
    works = {one.placement.architecture: one.placement.counts for one in examples}
    assert set(works) == set(OPERATORS)
    assert {one.value for one in examples} == {0.0005}
    products = {
        "attn_pre_proj": (4096, (4096 + 2 * 1024) // 2),
        "attn_post_proj": (2048, 4096),
        "mlp_up_proj": (4096, 11008),
        "mlp_down_proj": (5504, 4096),
    }
    for name, (inner, outer) in products.items():
        assert works[name].flops == 2 * 2048 * inner * outer
        assert works[name].weight_bytes == 2 * inner * outer
        assert works[name].activation_bytes == 2 * 2048 * outer
    assert [*longer_inputs(examples).known] == []


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
    monkeypatch.setattr("sys.argv", ["prediction", "hidden_pair", "vidur", "speed"])
    assert main() == 0
    assert "left out: hidden_pair, vidur, speed" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["prediction", "unseen_moon"])
    assert main() == 2
