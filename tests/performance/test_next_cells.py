"""The study of `next`: cells for the same error, and what it leaves out."""

from pathlib import Path

import pytest

from performance import next_cells
from tests.analysis.predict.examples import a_placement, an_example, peak_seconds

COUNTS = [10, 20, 30]


@pytest.mark.parametrize(
    ("error", "cells"), [(0.4, 10.0), (0.3, 10.0), (0.25, 15.0), (0.1, 30.0), (0.05, None)]
)
def test_cells_for_an_error_lie_between_those_that_were_tried(
    error: float, cells: float | None
) -> None:
    needed = next_cells._needed(COUNTS, [0.3, 0.2, 0.1], error)
    assert needed == (None if cells is None else pytest.approx(cells))


def test_without_data_it_says_what_it_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ACCELMATRIX_TEST_DATA", raising=False)
    monkeypatch.setattr(next_cells, "BUNDLE", tmp_path / "own_rows.zip")
    assert next_cells.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["timm", "own rows"]


def test_a_law_that_is_known_has_hardly_an_error() -> None:
    matrix = [
        an_example(1 / peak_seconds(placement), model=placement.model, work=float(number))
        for number in range(1, 9)
        for placement in [a_placement(f"net-{number}", work=float(number))]
    ]
    trial = next_cells.Trial(next_cells.PREDICTION_TARGETS["throughput"], matrix)
    assert trial.error(range(6)) < 0.05
    chosen = trial.by_next([0, 1], 6)
    assert chosen.numbers[:2] == [0, 1]
    assert len(set(chosen.numbers)) == 6
