"""The default matrix keeps its bar only if it is quick and each planned cell is `ok`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from performance.default_matrix import LIMIT_S, MatrixRun, run_matrix
from performance.jobs import write_matrix
from performance.watched import Seconds

AXES = {"model": ["models.yaml"], "backend": "fake", "batch_size": [1, 2], "sequence_length": 8}
SHORT = ("--scratch", "--set", "measure.min_duration=100ms", "--set", "measure.max_duration=1s")


@pytest.mark.parametrize(
    ("wall", "statuses", "within"),
    [
        (LIMIT_S, {"ok": 13}, True),
        (LIMIT_S + 0.1, {"ok": 13}, False),
        (60.0, {"ok": 12}, False),
        (60.0, {"ok": 12, "unavailable": 1}, False),
        (60.0, {}, False),
    ],
)
def test_what_is_within_the_bar(wall: float, statuses: Mapping[str, int], within: bool) -> None:
    assert MatrixRun(Seconds(wall, wall), 13, statuses).within is within


def test_a_matrix_without_cells_to_run_keeps_no_bar() -> None:
    assert not MatrixRun(Seconds(1.0, 1.0), 0, {}).within


@pytest.mark.slow
def test_a_failed_cell_is_counted_by_its_status(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, AXES)
    models = tmp_path / "models.yaml"
    faults = "config: {faults: {'*-b2-*': raise}}"
    models.write_text(models.read_text().replace("config: {}", faults))
    run = run_matrix(matrix, tmp_path / "results", *SHORT)
    assert (run.planned, run.statuses) == (2, {"failed": 1, "ok": 1})
    assert not run.within
