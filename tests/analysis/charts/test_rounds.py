"""The chart of ratios round by round: its numbers are those of `paired_ratios`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.chart import PAPER, Chart
from analysis.charts.drawing import svg_of
from analysis.charts.rounds import round_charts
from analysis.regress.cases import RegressionQuestion
from analysis.regress.judgements import judge
from analysis.report.regressions import regression_report
from analysis.report.topics import charts_of
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection, Side
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import a_record

RUN, BASELINE = "20261129-100000-aaaa", "20261129-100000-bbbb"
MS = 1_000_000
RUNTIMES = {"torch": (9.0, 8.0, 10.0), "onnxruntime": (4.0, 4.0, 5.0), "openvino": (3.0, 3.0, 3.0)}
"""Milliseconds of a query in each of three rounds."""


def side_by_side(ms: Sequence[float], slower: float = 1.02, /, **changes: Any) -> Record:
    """A result of rounds with two bursts of five queries each, the second so much slower."""
    bursts = [value * by for value in ms for by in (1, slower)]
    return a_record(
        **{"run_id": RUN, "side_by_side": f"{RUN}.g1", "looks": [3], "grade": "D"}
        | {"rounds": len(ms), "round_iterations": [10] * len(ms), "round_bursts": [2] * len(ms)}
        | {"burst_iterations": [5] * len(bursts), "burst_dropped": [0] * len(ms)}
        | {"durations_ns": [round(value * MS) for value in bursts for _ in range(5)]}
        | changes
    )


def drawn(folder: Path, records: Sequence[Record], run_id: str = RUN) -> tuple[Chart, ...]:
    with Store.open_readonly(write_records(folder, records)) as store:
        return round_charts(store, Selection(run_id=run_id))


def of_runtimes(**changes: Any) -> list[Record]:
    return [
        side_by_side(
            ms, runtime=name, backend="openvino" if name == "openvino" else "cpu", **changes
        )
        for name, ms in RUNTIMES.items()
    ]


def rows_of(chart: Chart) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    pairs, rounds = (layer["data"]["values"] for layer in chart.spec["layer"])
    return pairs, rounds


def test_each_pair_of_a_group_has_its_rounds_and_the_closest_comes_first(tmp_path: Path) -> None:
    (chart,) = drawn(tmp_path, of_runtimes())
    pairs, rounds = rows_of(chart)
    names = [pair["row"].rpartition(": ")[0] for pair in pairs]
    assert names == ["onnxruntime : openvino", "torch : onnxruntime", "torch : openvino"]
    first = rounds[:3]
    assert [one["ratio"] for one in first] == pytest.approx([4 / 3, 4 / 3, 5 / 3], rel=1e-6)
    assert [one["round"] for one in first] == [1, 2, 3]
    assert pairs[0]["ratio"] == pytest.approx((4 / 3 * 4 / 3 * 5 / 3) ** (1 / 3), rel=1e-6)
    assert pairs[0]["low"] < pairs[0]["ratio"] < pairs[0]["high"]
    assert chart.sentence.startswith("3 ratios of times, the longer by the shorter; the first is")
    assert chart.title == (
        "Side by side, round by round · bert-tiny, fp32, batch 1, 128 tokens, inference"
    )


def test_a_round_has_the_spread_of_its_bursts_and_none_where_launches_took_turns(
    tmp_path: Path,
) -> None:
    apart = {"round_bursts": None, "burst_iterations": None, "side_by_side": f"{RUN}.g2"}
    unsteady = side_by_side([2.0, 2.0], 1.5, runtime="onnxruntime", batch_size=4)
    steady = side_by_side([2.0, 2.0], batch_size=4)
    launches = [side_by_side(RUNTIMES[name], runtime=name, **apart) for name in [*RUNTIMES][:2]]
    one, other = drawn(tmp_path, [unsteady, steady, *launches])
    _, rounds = rows_of(one)
    spread = math.log(1.5 / 1.02) / math.sqrt(2)
    middle = math.sqrt(1.5 / 1.02)
    assert [r["high"] for r in rounds] == pytest.approx([middle * math.exp(spread)] * 2, rel=1e-6)
    assert {r["bursts"] for r in rounds} == {2}
    _, rounds = rows_of(other)
    assert {(r["low"], r["bursts"]) for r in rounds} == {(None, 1)}


def test_pairs_of_several_sizes_are_told_apart(tmp_path: Path) -> None:
    (chart,) = drawn(tmp_path, [*of_runtimes(), *of_runtimes(batch_size=4)])
    names = [pair["row"] for pair in rows_of(chart)[0]]
    assert len(set(names)) == 6
    assert sum("onnxruntime : openvino, batch 4:" in name for name in names) == 1


def of_versions() -> list[Record]:
    return [
        side_by_side(ms, run_id=run_id, batch_size=batch, side_by_side=f"{RUN}.g{batch}", **more)
        for run_id, more, values in (
            (RUN, {"interleaved_with": BASELINE}, ((4.2, 4.2, 4.3), (2.0, 2.1, 2.0))),
            (BASELINE, {}, ((4.0, 4.0, 4.0), (2.0, 2.0, 2.0))),
        )
        for batch, ms in zip((1, 2), values, strict=True)
    ]


def test_versions_are_drawn_against_their_baseline_from_either_run(tmp_path: Path) -> None:
    (chart,) = drawn(tmp_path, of_versions())
    pairs, _ = rows_of(chart)
    assert [pair["row"].partition(" % ")[0] for pair in pairs] == [
        "cpu-bert-tiny-fp32-b1-s128-inference: +5.8",
        "cpu-bert-tiny-fp32-b2-s128-inference: +1.6",
    ]
    assert pairs[0]["ratio"] == pytest.approx((1.05 * 1.05 * 1.075) ** (1 / 3), rel=1e-6)
    assert chart.title.startswith(f"{RUN} against {BASELINE}, round by round")
    with Store.open_readonly(tmp_path / "benchmarks.duckdb") as store:
        assert round_charts(store, Selection(run_id=BASELINE)) == (chart,)


def test_nothing_is_drawn_of_a_single_round_of_what_is_not_selected_or_stands_alone(
    tmp_path: Path,
) -> None:
    single = [side_by_side([ms[0]], runtime=name) for name, ms in [*RUNTIMES.items()][:2]]
    alone = a_record(run_id=RUN, batch_size=8)
    group = {"batch_size": 2, "side_by_side": f"{RUN}.g2"}
    wrong = side_by_side(
        RUNTIMES["openvino"], runtime="onnxruntime", correct=False, correct_reason="off", **group
    )
    right = side_by_side(RUNTIMES["torch"], **group)
    assert drawn(tmp_path, [*single, alone, wrong, right]) == ()


@pytest.mark.slow
def test_the_report_on_a_run_draws_it(tmp_path: Path) -> None:
    with Store.open_readonly(write_records(tmp_path, of_runtimes())) as store:
        charts = charts_of("run", store, Selection(run_id=RUN))
    (chart,) = (chart for chart in charts if chart.name.startswith("rounds"))
    json.dumps(chart.drawn(PAPER), allow_nan=False)
    assert b"NaN" not in svg_of(chart)


def test_so_does_that_on_regressions(tmp_path: Path) -> None:
    with Store.open_readonly(write_records(tmp_path, of_versions())) as store:
        sides = [Side(run_id, store, Selection(run_id=run_id)) for run_id in (BASELINE, RUN)]
        judgements = judge(RegressionQuestion(*sides, (METRICS["latency"],)))
        report = regression_report(judgements, store, sides[1].selection)
    (section,) = (section for section in report.sections if section.name == "rounds")
    assert [chart.name for chart in section.charts] == [f"rounds-{BASELINE}"]
