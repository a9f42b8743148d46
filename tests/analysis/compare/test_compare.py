"""Comparisons by a property: which value is the baseline, and how rows are ordered."""

from typing import Any

import pytest

from analysis.compare.compare import compare_by
from analysis.compare.values import MACHINE_KEY, PART, MetricValue
from analysis.results.metrics import METRICS
from analysis.results.series import COMPARABLE, COMPARED, FOUND, SCOPE
from analysis.statistics.ratios import Estimate

_FACTS: dict[str, Any] = {
    **dict.fromkeys((*COMPARED, *COMPARABLE)),
    "source": "accelmatrix",
    "proof": "proven",
    "correct": True,
    "grade": "A",
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "batch_size": 1,
    "model": "bert-tiny",
    "hardware": "Example CPU",
    "family": "embedding",
    MACHINE_KEY: "host-1",
    PART: None,
    "result_id": "run/cell",
}


def a_value(value: float, **facts: Any) -> MetricValue:
    """A value that is known within 1 %."""
    return MetricValue(_FACTS | facts, value, Estimate(value, value * 0.99, value * 1.01))


@pytest.mark.parametrize(
    ("by", "metric", "values", "baseline", "names"),
    [
        ("backend", "latency", {"cuda": 1, "cpu": 5, "openvino": 3}, None, "cpu cuda openvino"),
        ("backend", "latency", {"cuda": 1, "openvino": 3}, None, "openvino cuda"),
        ("backend", "throughput", {"cuda": 1, "openvino": 3}, None, "cuda openvino"),
        ("backend", "latency", {"cuda": 1, "cpu": 5}, "cuda", "cuda cpu"),
        ("batch_size", "throughput", {8: 9, 1: 2, 4: 5}, None, "1 4 8"),
        ("batch_size", "throughput", {8: 9, 4: 5}, None, "4 8"),
        ("batch_size", "throughput", {8: 9, 1: 2, 4: 5}, "8", "8 1 4"),
    ],
)
def test_the_baseline_comes_first_then_the_best_or_the_next_size(
    by: str, metric: str, values: dict[Any, float], baseline: str | None, names: str
) -> None:
    known = [a_value(value, **{by: name}) for name, value in values.items()]
    (group,) = compare_by(known, by, METRICS[metric], baseline=baseline).groups
    assert [str(row.name) for row in group.rows] == names.split()
    assert group.rows[0].ratio == 1


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({}, 1),
        ({FOUND: "rate 98.2"}, 0),
        ({SCOPE: "board"}, 0),
        ({"model": "gpt2"}, 0),
        ({"weights_seed": 8}, 0),
        ({"launcher": "docker"}, 0),
        ({"settings": "layout nhwc"}, 0),
        ({MACHINE_KEY: "host-2"}, 0),
        ({PART: "decode"}, 0),
        ({"threads": 4, "timed_region": "with copies", "hardware_id": "gpu"}, 1),
    ],
)
def test_only_what_follows_from_the_property_may_differ_too(
    changes: dict[str, Any], groups: int
) -> None:
    values = [a_value(2), a_value(1, backend="cuda", **changes)]
    comparison = compare_by(values, "backend", METRICS["latency"])
    assert (len(comparison.groups), comparison.alone) == (groups, 2 - 2 * groups)


def test_a_better_number_of_grade_d_never_stands_before_one_that_can_be_trusted() -> None:
    values = [
        a_value(5),
        a_value(3, backend="cuda"),
        a_value(1, backend="cuda", runtime="onnxruntime", grade="D"),
    ]
    (group,) = compare_by(values, "backend", METRICS["latency"]).groups
    assert group.rows[1].result.value == 3
    assert group.passed_over == 1
