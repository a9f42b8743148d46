"""Comparisons by a property and of two runs, checked against SQL by hand."""

import math
import re
import shutil
from datetime import timedelta
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import duckdb
import pytest
from scipy import stats

from analysis.compare.compare import ComparedValue, ComparisonBy
from analysis.compare.values import Replication
from orchestrator.commands.compare.answer import compare_results, compare_run_pair
from orchestrator.commands.compare.words import basis_text
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.system.files import DATABASE_NAME
from runner.contract.errors import BenchError, NothingToDo, UsageError
from tests.support.comparable import FIRST, IMPORT
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record
from tests.support.verdicts import BASE, RUN


@pytest.fixture
def database(comparable: Path) -> Path:
    return comparable / DATABASE_NAME


def compared(database: Path, by: str, **options: Any) -> ComparisonBy:
    """The comparison that these options ask for."""
    own = {
        name: options.pop(name)
        for name in ("metric", "baseline", "across_hosts")
        if name in options
    }
    return compare_results(SelectionRequest(database, **options), by, **own)


def ask(database: Path, sql: str) -> list[Any]:
    with duckdb.connect(database, read_only=True) as connection:
        return connection.execute(sql).fetchall()


def named(comparison: ComparisonBy) -> dict[Any, ComparedValue]:
    """The rows of the only group."""
    (group,) = comparison.groups
    return {row.name: row for row in group.rows}


def test_a_ratio_is_that_of_the_latest_results_with_movers_interval(database: Path) -> None:
    row = named(compared(database, "backend"))["openvino"]
    ((value, low, high), (base, base_low, base_high)) = ask(
        database,
        "SELECT latency_median_ms, latency_median_low_ms, latency_median_high_ms"
        " FROM latest_results WHERE runtime IN ('openvino', 'onnxruntime') ORDER BY 1",
    )
    assert row.ratio == pytest.approx(value / base)
    assert row.speedup == pytest.approx(base / value)
    assert row.interval is not None
    down = math.hypot(math.log(value / low), math.log(base_high / base))
    up = math.hypot(math.log(high / value), math.log(base / base_low))
    ends = (value / base * math.exp(-down), value / base * math.exp(up))
    assert (row.interval.low, row.interval.high) == pytest.approx(ends)
    assert row.outcome is not None
    assert row.outcome.kind == "better"


def test_the_best_runtime_of_a_backend_is_taken_and_the_others_counted(database: Path) -> None:
    comparison = compared(database, "backend")
    assert comparison.groups[0].rows[0].result.facts["runtime"] == "onnxruntime"
    assert comparison.passed_over == 1
    narrowed = compared(database, "backend", filters={"runtime": ("torch", "openvino")})
    assert narrowed.groups[0].rows[0].result.facts["runtime"] == "torch"


def test_throughput_of_several_launches_has_students_interval_of_their_means(
    database: Path,
) -> None:
    rows = named(compared(database, "batch_size", run=FIRST))
    ((durations, value),) = ask(
        database,
        "SELECT durations_ns, throughput FROM raw_benchmark_data JOIN benchmark_results USING"
        " (result_id) WHERE rounds = 3",
    )
    means = [fmean(durations[start : start + 2]) for start in (0, 2, 4)]
    error = stats.t.ppf((1 + 0.968) / 2, 2) * stdev(means) / math.sqrt(3) / fmean(means)
    first = rows[1].result
    assert first.interval is not None
    assert first.value == value == pytest.approx(6e9 / sum(durations))
    ends = (value / (1 + error), value / (1 - error))
    assert (first.interval.low, first.interval.high) == pytest.approx(ends, rel=1e-4)
    assert first.basis == Replication(False, 3)


def test_throughput_of_launches_that_were_near_in_time_is_known_less_well(
    database: Path, tmp_path: Path
) -> None:
    before = named(compared(database, "batch_size", run=FIRST))[1].result.interval
    near = Path(shutil.copy(database, tmp_path))
    with duckdb.connect(near) as connection:
        connection.execute(
            "UPDATE benchmark_results SET effective_rounds = 0.75, round_degrees = 1"
            " WHERE rounds = 3"
        )
    after = named(compared(near, "batch_size", run=FIRST))[1].result.interval
    assert before is not None
    assert after is not None
    wider = 2 * stats.t.ppf((1 + 0.968) / 2, 1) / stats.t.ppf((1 + 0.968) / 2, 2)
    error = before.value / before.low - 1
    assert after.low == pytest.approx(after.value / (1 + wider * error), rel=1e-4)


_DEFAULT = {
    "process_spread": "0.053",
    "process_spread_processes": "NULL",
    "process_spread_degrees": "NULL",
}


@pytest.mark.parametrize(
    ("columns", "quantile", "basis"),
    [
        ({}, stats.t.ppf(0.975, 9), "1 process and a calibrated spread of 1 %"),
        (_DEFAULT, 5.3 * 1.96, "1 process and the default spread of 5.3 %"),
    ],
)
def test_throughput_of_one_launch_holds_what_is_known_of_fresh_ones(
    database: Path, tmp_path: Path, columns: dict[str, str], quantile: float, basis: str
) -> None:
    known = Path(shutil.copy(database, tmp_path))
    with duckdb.connect(known) as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE benchmark_results SET {name} = {value}")
    filters = {"runtime": ("torch",)}
    result = named(compared(known, "batch_size", run=FIRST, filters=filters))[4].result
    ((mean, deviation),) = ask(
        known, "SELECT latency_mean_s, latency_stddev_s FROM benchmark_results WHERE batch_size = 4"
    )
    within = stats.t.ppf(0.975, 2) * deviation / math.sqrt(3) / mean
    error = math.hypot(within, quantile * 0.01)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(result.value / (1 + error), rel=1e-4)
    assert basis_text(result.basis) == basis


def test_settings_that_differ_from_the_baselines_are_told(database: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copy(database, tmp_path))
    with duckdb.connect(changed) as connection:
        connection.execute("UPDATE benchmark_results SET cpu_governor = 'powersave', heat_s = 60")
        connection.execute(
            "UPDATE benchmark_results SET cpu_governor = 'performance', heat_s = NULL"
            " WHERE runtime = 'onnxruntime'"
        )
    rows = named(compared(changed, "runtime", filters={"backend": ("cpu",)}))
    assert rows["torch"].settings == ()
    assert rows["onnxruntime"].settings == (
        "heating in seconds 60, now none",
        "CPU governor powersave, now performance",
    )


def test_scaling_efficiency_is_by_batch_and_throughput_of_one(database: Path) -> None:
    rows = named(compared(database, "batch_size", run=FIRST))
    ((one, four),) = ask(
        database,
        "SELECT max(throughput) FILTER (batch_size = 1), max(throughput) FILTER (batch_size = 4)"
        f" FROM benchmark_performance WHERE run_id = '{FIRST}' AND runtime = 'torch'"
        " AND hostname = 'example-host'",
    )
    assert rows[4].scaling_efficiency == pytest.approx(four / (4 * one))


def test_another_machine_takes_part_only_if_asked(database: Path) -> None:
    alone = compared(database, "batch_size")
    assert alone.left_out.on_other_hosts == 1
    assert {*named(alone)} == {1, 4, 8}
    assert {*named(compared(database, "batch_size", across_hosts=True))} == {1, 2, 4, 8}


def test_what_must_not_be_quoted_takes_part_only_if_asked_and_is_marked(database: Path) -> None:
    assert compared(database, "backend").left_out.unquotable == 2
    rows = named(compared(database, "precision", unquotable=True))
    marks = {name: row.result.marks for name, row in rows.items()}
    assert marks == {"fp32": (), "int8": ("outputs wrong",), "bf16": ("proof partial",)}
    outcomes = [(row.outcome.because if row.outcome else None) for row in rows.values()]
    assert outcomes == [None, "unquotable", "unquotable"]


def test_imported_rows_are_marked_and_simulated_ones_never_appear(database: Path) -> None:
    everything = compared(database, "precision", imported=True, unquotable=True)
    theirs = [g for g in everything.groups if g.shared["source"] == "timm"]
    assert [row.name for row in theirs[0].rows] == ["fp32", "fp16"]
    assert {row.result.marks for row in theirs[0].rows} == {("measured by timm",)}
    outcomes = [(row.outcome.because if row.outcome else None) for row in theirs[0].rows]
    assert outcomes == [None, "imported"]
    only = compared(database, "precision", imported=True, run=IMPORT)
    assert len(only.groups) == 1


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    ("options", "error", "message", "hint"),
    [
        ({"by": "backnd"}, UsageError, "--by: 'backnd' is unknown; did you mean backend?", None),
        ({"by": "backend", "baseline": "opnvino"}, UsageError, "did you mean openvino?", None),
        ({"by": "backend", "run": "nope"}, UsageError, "'nope' is not a run", None),
        ({"by": "precision"}, NothingToDo, "differ in precision alone", "compare --by backend"),
        (
            {"by": "backend", "filters": {"select": ("resnet18",)}},
            NothingToDo,
            "no result of our own",
            "--source all compares 2",
        ),
        (
            {"by": "precision", "filters": {"precision": ("int8",)}},
            NothingToDo,
            "1 result must not be quoted",
            "--all",
        ),
        (
            {"by": "batch-size", "filters": {"batch_size": (1, 2)}, "run": FIRST},
            NothingToDo,
            "differ in batch_size alone on one machine",
            "--across-hosts compares",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_help(
    database: Path, options: dict[str, Any], error: type[BenchError], message: str, hint: str | None
) -> None:
    with pytest.raises(error) as refused:
        compared(database, **options)
    assert message in str(refused.value)
    assert hint is None or hint in (refused.value.hint or "")


def test_a_metric_without_values_proposes_one_that_has_some(database: Path) -> None:
    filters: Any = {"select": ("resnet18",)}
    with pytest.raises(NothingToDo, match="has a value of energy") as refused:
        compared(database, "precision", metric="energy", imported=True, filters=filters)
    found = re.search(r"try `--metric (\w+)`", refused.value.hint or "")
    assert found
    assert compared(database, "precision", metric=found[1], imported=True, filters=filters).groups


def test_two_runs_are_compared_cell_by_cell_with_what_differs(database: Path) -> None:
    pair = compare_run_pair(SelectionRequest(database), FIRST, "last")
    (cell,) = pair.cells
    assert cell.after.ratio == pytest.approx(15 / 10.2)
    assert cell.after.outcome is not None
    assert cell.after.outcome.kind == "worse"
    assert set(pair.changes) == {"torch 2.13.0, now 2.14.0", "processes 3, now 1"}
    assert [(v.then, v.now) for v in pair.verdicts] == [("failed (out of luck)", "ok")]
    assert len(pair.only_before) == 6
    assert pair.only_after == ()


COUNTED = {"flops_per_iteration": 300_000_000, "bytes_per_iteration": 6_000_000, "grade": "A"}
THEN = a_record(
    run_id=BASE, latency_median_s=0.003, peak_flops_per_s=2e11, peak_bytes_per_s=1e10, **COUNTED
)
NOW = a_record(
    run_id=RUN,
    recorded_at=RECORDED_AT + timedelta(days=1),
    latency_median_s=0.006,
    peak_flops_per_s=1e11,
    peak_bytes_per_s=5e9,
    **COUNTED,
)
"""It takes twice as long, on a machine that was too busy to show its peak: half of it, as then."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "judged", "apart"), [("efficiency", "efficiency", False), ("mbu", "gb_per_s", True)]
)
def test_shares_of_two_databases_peaks_are_compared_by_the_rates_behind_them(
    tmp_path: Path, metric: str, judged: str, apart: bool
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    there = str(write_records(tmp_path / "there", [THEN]))
    selected = SelectionRequest(write_records(tmp_path / "here", [NOW] if apart else [THEN, NOW]))
    baseline = there if apart else BASE
    pair = compare_run_pair(selected, baseline, RUN, metric=metric)
    (cell,) = pair.cells
    assert pair.metric.name == judged
    assert cell.after.speedup == pytest.approx(0.5)
    answer = judge_regressions(RegressionRequest(selected, baseline, RUN, (metric,)))
    (judgement,) = answer.judgements.judgements
    assert judgement.metric.name == judged


@pytest.mark.parametrize("word", ["mode", "scenario", "target_qps", "slo-ms"])
def test_values_of_other_quantities_are_no_property_to_compare_by(word: str) -> None:
    with pytest.raises(UsageError, match=f"^--by {word}: each measures something else"):
        compare_results(SelectionRequest(Path("any.duckdb")), word)
