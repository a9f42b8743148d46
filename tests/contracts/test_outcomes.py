"""Every comparison of results of grade D is undecided, however far apart they are."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.charts.trends import trend_chart
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.trend.trends import trends_of
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from tests.support.command_line import call
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record

RUNS = ("20261121-120000-aaaa", "20261122-120000-bbbb")
NEVER = ("no difference", "told apart", "distinguishable", "equal in")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of two runtimes and backends, each seventeen times as fast as the other."""
    path = tmp_path_factory.mktemp("undecided")
    records = [
        a_record(
            grade="D",
            run_id=run,
            recorded_at=RECORDED_AT + timedelta(days=day),
            latency_median_s=ms * (1 + 3 * day) / 1000,
            backend=backend,
            runtime=runtime,
            batch_size=batch,
        )
        for day, run in enumerate(RUNS)
        for batch in (1, 4)
        for backend, runtime, ms in (
            ("cpu", "torch", 147.0),
            ("cpu", "onnxruntime", 8.46),
            ("openvino", "openvino", 4.0),
        )
    ]
    write_records(path, records)
    return path


def told(folder: Path, *words: str) -> str:
    done = call(*words, "--database", "benchmarks.duckdb", folder=folder, environment={})
    assert done.returncode in (0, 8), done.stderr
    assert not [never for never in NEVER if never in done.stdout]
    return " ".join(done.stdout.split())


def document(folder: Path, *words: str) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(told(folder, *words, "--json"))
    return known


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (("compare", "--by", "runtime"), "rows"),
        (("compare", *RUNS), "rows"),
        (("trend",), "series"),
        (("regress", "--baseline", *RUNS), "judgements"),
        (("recommend", "--model", "bert-tiny"), "recommended"),
    ],
)
def test_json_has_the_outcome_with_its_reason(
    folder: Path, words: tuple[str, ...], rows: str
) -> None:
    answer = document(folder, *words)
    outcomes = {(one["outcome"], one["undecided_because"]) for one in answer[rows]}
    assert "differs" not in answer[rows][0]
    assert ("undecided", "grade_d") in outcomes
    assert outcomes <= {("undecided", "grade_d"), (None, None)}


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("compare", "--by", "runtime"), "beside torch: undecided in 2 of 2 (grade D)."),
        (("compare", *RUNS), "undecided in 6 of 6 (grade D)."),
        (("trend",), "in 6 series: undecided in 6 of 6 (grade D)."),
        (("status", RUNS[1]), "of 6 results 6 undecided (grade D)"),
        (("regress", "--baseline", *RUNS), "No verdict on 6 cells; 6 inconclusive"),
        (("recommend", "--model", "bert-tiny"), "undecided (grade D) beside"),
        (
            ("compatibility", "--by", "family"),
            "undecided: no backend is shown to be faster in most cells: ",
        ),
        (
            ("report", "performance", "--format", "markdown", "--output", "-"),
            "median latency: undecided in",
        ),
        (("report", "performance", "--json", "--output", "-"), "undecided (grade D)"),
    ],
)
def test_sentences_say_undecided_and_why(
    folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in told(folder, *words)


def test_charts_leave_marks_hollow_and_count_what_is_undecided(folder: Path) -> None:
    with Store.open_readonly(folder / DATABASE_NAME) as store:
        (compared,) = property_comparison(store, Selection(), "runtime")
        curve = size_curves(store, Selection(), ("latency",))[0]
        trend = trend_chart(trends_of(store, Selection(every=True), METRICS["latency"]))
    for chart in (compared, curve, trend):
        assert "undecided" in chart.sentence
        assert "Hollow" in chart.sentence
        assert all(point["undecided"] for point in chart.spec["data"]["values"])
        assert "datum.undecided" in json.dumps(chart.spec)
    assert compared.sentence.startswith("2 ratios in 2 questions: undecided in 2 of 2 (grade D).")


@pytest.mark.slow
def test_a_threshold_is_printed_where_equality_is_claimed(tmp_path: Path) -> None:
    rounds = {"rounds": 10, "grade": "A", "run_id": RUNS[0]}
    sides = [("torch", 100.0), ("onnxruntime", 100.5)]
    records = [
        a_record(runtime=runtime, latency_median_s=ms / 1000, **rounds) for runtime, ms in sides
    ]
    write_records(tmp_path, records)
    for options, word, threshold in ((("--threshold", "10%"), "equal", 0.1), ((), "equal", 0.05)):
        answer = document(tmp_path, "compare", "--by", "runtime", *options)
        assert answer["threshold"] == threshold
        assert [row["outcome"] for row in answer["rows"]] == [None, word]
        shown = told(tmp_path, "compare", "--by", "runtime", *options)
        assert f"equal within {100 * threshold:g} %" in shown
    narrow = document(tmp_path, "compare", "--by", "runtime", "--threshold", "1%")["rows"][1]
    assert (narrow["outcome"], narrow["undecided_because"]) == ("undecided", "wide_interval")
