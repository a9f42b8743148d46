"""docs/measuring.md and docs/numbers.md quote the code's tables, names and constants."""

import ast
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, get_args

import pytest

from performance.__main__ import MEASUREMENTS
from runner.contract.axes import Mode, Precision, Runtime
from runner.contract.record.measured import Efficiency, Resources, Timing
from runner.contract.record.modes import Arrivals, Generation, Startup, Training
from runner.contract.record.quality import Trust
from runner.correctness.compare_outputs import FLOORS, HONEST
from runner.measure import grade
from runner.measure.statistics import percentiles
from runner.modes.generation import GenerationWorkload
from runner.modes.startup import mode as startup
from runner.modes.training import TRAINING_REGION
from tests.conftest import ROOT
from tests.docs.pages import NUMBERS, Page

PAGE = Page(ROOT / "docs/measuring.md")
SPANS = [*PAGE.spans, *NUMBERS.spans]
DASH = "–"

SCALES: Mapping[str, str] = {
    "`latency_precision`, where": "IMPRECISION",
    "`latency_cv`": "VARIATION",
    "size of `drift`": "DRIFT",
    "size of `steady_change`": "DRIFT",
    "one process": "IMPRECISION",
    "`load_average_1m`": "LOAD_AVERAGE",
    "`noise_steal`": "BIAS",
    "`noise_other_load`": "OTHER_LOAD",
    "the same in cores": "OTHER_CORES",
    "spread of fixed arithmetic": "SPREAD",
    "size of `noise_kernel_shift`": "SHIFT",
    "`clock_resolution_s`": "BIAS",
    "`harness_overhead_s`": "BIAS",
    "`page_faults` × `page_fault_s`": "PAGE_FAULTS",
}
"""The scale behind each finding, by how its row begins."""


def number(text: str) -> float:
    """What a cell of a table says: `1,000`, `5 %`, `1/30`, `0.3 s`, `100 ms, assumed`."""
    text = text.partition(", assumed")[0].replace(",", "")
    if "/" in text:
        over, under = text.split("/")
        return float(over) / float(under)
    value, _, unit = text.partition(" ")
    return float(value) * {"": 1, "%": 0.01, "s": 1, "ms": 1e-3}[unit]


def bound(text: str) -> float:
    return float("inf") if text == DASH else number(text)


def constant(name: str) -> float:
    """The value that a module assigns to the constant, read without importing it."""
    module, _, attribute = name.rpartition(".")
    (path,) = (ROOT / "runner").rglob(f"{module.replace('.', '/')}.py")
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).lstrip("_") == attribute:
            return float(eval(ast.unparse(node.value)))
    raise KeyError(name)


def finding(start: str) -> list[str]:
    (row,) = [row for row in NUMBERS.rows("finding") if row[0].startswith(start)]
    return row


def test_the_percentiles_and_their_samples_are_those_of_the_code() -> None:
    listed = {row[0]: int(number(row[1])) for row in NUMBERS.rows("percentile")}
    assert listed == {
        name.replace("p999", "p99.9"): needed for name, needed in percentiles.NEEDED.items()
    }


def test_the_tolerances_are_those_of_the_code() -> None:
    rows = {row[0].strip("`"): tuple(map(number, row[1:])) for row in NUMBERS.rows("precision")}
    assert rows == {
        precision: (*FLOORS[precision], *HONEST[precision]) for precision in get_args(Precision)
    }


@pytest.mark.parametrize("start", SCALES)
def test_the_grades_thresholds_are_those_of_the_code(start: str) -> None:
    scale = getattr(grade, SCALES[start])
    assert [bound(cell) for cell in finding(start)[1:4]] == pytest.approx(
        [scale.b, scale.c, scale.d]
    )


def test_the_constants_have_the_values_of_the_code() -> None:
    rows = PAGE.rows("constant")
    assert rows
    for name, value, reason in rows:
        listed = number(value) * (1e9 if name.endswith("_NS`") else 1)
        assert listed == pytest.approx(constant(name.strip("`"))), name
        assert reason, name


def test_the_timed_regions_are_those_in_the_records() -> None:
    listed = {row[0].strip("`"): row[1] for row in PAGE.rows("mode")}
    assert set(get_args(Mode)) <= set(listed)
    assert listed["generation"] == GenerationWorkload.timed_region
    assert listed["training"] == TRAINING_REGION
    assert listed["startup"] == startup.TIMED_REGION
    sources = (("inference", "backends/torch/backend.py"), ("server", "modes/server/mode.py"))
    for mode, path in sources:
        region = listed[mode].partition("; and then as")[0]
        assert region in (ROOT / "runner" / path).read_text("utf-8")


def test_what_each_runtime_allocates_while_it_is_timed_is_told() -> None:
    rows = PAGE.rows("runtime", "what is allocated inside the timed region")
    listed = [name for row in rows for name in row[0].replace("`", "").split(", ")]
    assert sorted(listed) == sorted(get_args(Runtime))


@pytest.mark.parametrize(
    "columns", [Timing, Trust, Resources, Generation, Training, Startup, Arrivals, Efficiency]
)
def test_every_number_is_explained(columns: Any) -> None:
    listed = [name for span in SPANS for name in re.split(r"[\s,]+", span)]
    not_numbers = {"status", "reason_code", "reason_facts", "phase", "log", "parameters"}
    for field in set(columns.model_fields) - not_numbers:
        assert any(fnmatchcase(field, name) for name in listed), field


def test_every_measurement_of_ourselves_exists() -> None:
    named = set(re.findall(r"python -m performance (\w+)", PAGE.text))
    assert named
    assert named <= {*MEASUREMENTS, "faults"}
