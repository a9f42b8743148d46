"""What a merge left out is told, all of it."""

from pathlib import Path

import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.validate import Damaged
from runner.contract.errors import StoreError

SEVERAL = tuple(Damaged(Path(f"{number}.parquet"), "cut") for number in range(7))


@pytest.mark.parametrize(
    ("report", "told", "hinted"),
    [
        (
            MergeReport(3, damaged=SEVERAL[:1]),
            "1 damaged file was left out: 0.parquet: cut",
            "; all others were merged",
        ),
        (
            MergeReport(3, refused=("run/cell",)),
            "refused 1 row that no device made: run/cell",
            "; all others were merged",
        ),
        (
            MergeReport(unchanged=1, refused=("a", "b"), damaged=SEVERAL),
            "refused 2 rows that no device made: a, b; 7 damaged files were left out:"
            " 0.parquet: cut, 1.parquet: cut, 2.parquet: cut, 3.parquet: cut, 4.parquet: cut"
            " and 2 more",
            "--resume`; all others were merged",
        ),
        (
            MergeReport(3, refused=tuple(f"run/cell{number}" for number in range(8))),
            "refused 8 rows that no device made: run/cell0, run/cell1, run/cell2, run/cell3,"
            " run/cell4 and 3 more",
            "; all others were merged",
        ),
        (
            MergeReport(damaged=SEVERAL[:2]),
            "2 damaged files were left out: 0.parquet: cut, 1.parquet: cut",
            "; nothing was merged",
        ),
    ],
    ids=["damaged", "refused", "both", "many", "nothing-else"],
)
def test_all_that_was_left_out_is_told(report: MergeReport, told: str, hinted: str) -> None:
    with pytest.raises(StoreError) as raised:
        report.require_complete()
    assert str(raised.value) == told
    assert str(raised.value.hint).endswith(hinted)


def test_a_merge_of_everything_is_complete() -> None:
    MergeReport(1, 2, 3, quarantined=4).require_complete()
