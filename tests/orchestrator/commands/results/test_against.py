"""Runs that were compared: rounds are found by their records, and exit codes are combined."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import pytest

from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.statistics.ratios import RatioOutcome
from analysis.trend.trends import trends_of
from orchestrator.commands.compare.answer import compare_results, compare_run_pair
from orchestrator.commands.measure.against import ComparedRun
from orchestrator.commands.regress.answer import (
    RegressionAnswer,
    RegressionRequest,
    judge_regressions,
)
from orchestrator.commands.regress.output import regression_markdown
from orchestrator.commands.regress.sentences import model_lines
from orchestrator.commands.regress.table import judgement_data
from orchestrator.commands.results.run_report import RunReport
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import open_sides
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.running.outcome import RunOutcome
from orchestrator.screen.words.records import record_words
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.store import Store
from runner.contract.errors import EngineUnavailable, NothingToDo
from runner.contract.record.files import save_record
from runner.contract.record.ids import digest
from tests.support.records import RECORDED_AT, a_record

ROUNDS = 12
MODEL = str(a_record().model_spec)
CHANGED = '{"name": "bert-tiny", "version": 2}'


def medians(slower: float) -> list[float]:
    """Launches that drift by 20 %, alternate by 0.2 %, and are slower by a share."""
    drift = [0.010 * (1 + 0.2 * number / ROUNDS) for number in range(ROUNDS)]
    slowed = (value * (1 + slower + 0.002 * (-1) ** place) for place, value in enumerate(drift))
    return [round(value, 9) for value in slowed]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A baseline, and a run 4 % slower that was measured side by side with it; later others."""
    folder = tmp_path_factory.mktemp("pairs")
    for day, (run_id, slower, beside, model) in enumerate(
        (
            ("base", 0.0, None, MODEL),
            ("slow", 0.04, "base", MODEL),
            ("alone", 0.04, None, MODEL),
            ("changed", 0.04, "base", CHANGED),
            ("foreign", 0.04, None, CHANGED),
            ("renamed", 0.04, None, MODEL),
        )
    ):
        group = "base-g1" if beside or run_id == "base" else None
        each = [round(value * 1e9) for value in medians(slower)]
        middle = fmean(medians(slower))
        columns: dict[str, Any] = {
            "durations_ns": each,
            "round_medians": medians(slower),
            "latency_median_s": middle,
            "latency_median_low_s": 0.99 * middle,
            "latency_median_high_s": 1.01 * middle,
        }
        record = a_record(
            run_id=run_id,
            rounds=ROUNDS,
            round_iterations=[1] * ROUNDS,
            recorded_at=RECORDED_AT + timedelta(hours=day),
            interleaved_with=beside,
            side_by_side=group,
            looks=group and [6, 12, 24],
            model_spec=model,
            model="colleagues-copy" if run_id == "renamed" else "bert-tiny",
            **columns,
        )
        (folder / run_id).mkdir()
        save_record(record, folder / run_id)
    with Store.open(folder / "benchmarks.duckdb") as store:
        merged = store.merge([folder], words=record_words)
        assert merged.inserted == 6, merged.faults
    with Store.open_readonly(folder / "benchmarks.duckdb") as store:
        yield store.path


def judged(database: Path, run: str) -> RegressionAnswer:
    request = RegressionRequest(SelectionRequest(database), "base", run, threshold=0.03)
    return judge_regressions(request)


def test_rounds_cancel_what_both_sides_share(database: Path) -> None:
    (paired,) = judged(database, "slow").judgements.judgements
    assert (paired.verdict, paired.noise) == ("regression", "12 rounds side by side")
    assert paired.outcome == RatioOutcome("worse", rounds=12)
    (alone,) = judged(database, "alone").judgements.judgements
    assert alone.verdict == "inconclusive"
    assert paired.ratio is not None
    assert alone.ratio is not None
    width, wide = (one.ratio.high - one.ratio.low for one in (paired, alone) if one.ratio)
    assert width < wide / 10


def test_two_runs_side_by_side_are_compared_by_their_rounds(database: Path) -> None:
    (beside,) = compare_run_pair(SelectionRequest(database), "base", "slow").cells
    assert beside.after.outcome == RatioOutcome("equal", rounds=12)
    assert beside.after.ratio == pytest.approx(1.04, rel=1e-3)
    assert beside.after.pair is not None
    assert beside.after.pair.between < 0.0002
    assert beside.after.pair.within is None
    (alone,) = compare_run_pair(SelectionRequest(database), "base", "alone").cells
    assert alone.after.outcome is not None
    assert (alone.after.outcome.rounds, alone.after.pair) == (None, None)


def test_versions_of_a_model_are_compared_if_they_were_side_by_side(database: Path) -> None:
    (beside,) = judged(database, "changed").judgements.judgements
    assert beside.verdict == "regression"
    (alone,) = judged(database, "foreign").judgements.judgements
    assert alone.verdict == "not comparable"
    assert str(alone.reason).startswith("another model configuration: ")


@pytest.mark.slow
def test_a_changed_model_is_judged_by_name_where_somebody_asks_for_it(
    database: Path, tmp_path: Path
) -> None:
    """By `run --compare-to`, whatever it names, and by a path; the answer says that it changed."""
    then, now = (digest(spec)[:12] for spec in (MODEL, CHANGED))
    bundle = tmp_path / "base.zip"
    write_bundle(database, ("base",), bundle, force=False)
    for baseline, by_name in (("base", True), ("last~2", True), (str(bundle), False)):
        request = RegressionRequest(
            SelectionRequest(database), baseline, "foreign", threshold=0.03, by_name=by_name
        )
        answer = judge_regressions(request)
        (one,) = answer.judged
        assert one.model_change == (then, now)
        assert answer.exit_code in (7, 8)
        (line,) = model_lines(answer)
        assert line == f"The model changed: bert-tiny ({then}, now {now})."
        assert line in regression_markdown(answer).decode().splitlines()[0]
        data = judgement_data(one)
        assert data["baseline_model_id"] == digest(MODEL)
        assert data["model_id"] == digest(CHANGED)
    assert not list(model_lines(judged(database, "alone")))


def test_a_model_is_the_same_under_another_name(database: Path) -> None:
    """Its folder's name is a label: regressions and comparisons of runs go by what it holds."""
    answer = judged(database, "renamed")
    (one,) = answer.judgements.judgements
    assert one.ratio is not None
    assert (one.verdict, round(one.ratio.value, 3)) == ("inconclusive", 1.04)
    assert "colleagues-copy" in one.cell_id
    assert (answer.judgements.only_before, answer.judgements.only_after) == ((), ())
    pair = compare_run_pair(SelectionRequest(database), "base", "renamed")
    assert (len(pair.cells), pair.only_before, pair.only_after) == (1, (), ())
    with open_sides(SelectionRequest(database), "last", "renamed") as sides:
        assert sides.base.label == "alone"


def test_a_folder_is_proposed_by_a_path_that_somebody_completes(database: Path) -> None:
    with pytest.raises(NothingToDo) as refused:
        compare_results(SelectionRequest(database, run="renamed"), "precision")
    assert "bench --model PATH/colleagues-copy --precision" in str(refused.value.hint)


def test_what_was_measured_again_for_a_comparison_is_no_point_of_a_history(database: Path) -> None:
    with Store.open_readonly(database) as store:
        histories = trends_of(store, Selection(every=True), METRICS["latency"]).series
    points = sorted([one.facts["run_id"] for one in series.values] for series in histories)
    assert points == [["changed", "foreign"], ["slow", "alone"]]


def outcome(*, troubles: tuple[Any, ...] = (), failures: int = 0, measured: int = 1) -> RunOutcome:
    return RunOutcome(MergeReport(inserted=1), troubles, failures, measured)


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("ended", "run", "code"),
    [
        (outcome(), "slow", 7),
        (outcome(failures=1), "slow", 7),
        (outcome(), "alone", 8),
        (outcome(failures=1), "alone", 1),
        (outcome(troubles=(EngineUnavailable("gone"),)), "slow", 4),
        (outcome(), None, 3),
    ],
)
def test_what_went_wrong_first_decides_the_exit_code(
    database: Path, ended: RunOutcome, run: str | None, code: int
) -> None:
    report = cast("RunReport", None)
    verdicts = judged(database, run) if run else None
    assert ComparedRun(report, ended, verdicts=verdicts).exit_code == code
