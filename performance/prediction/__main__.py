"""Accuracy of predictions on splits that hide what a question would not know.

`ACCELMATRIX_TEST_DATA` names the folder with the results of timm; without it, splits of those are
left out. Splits are seeded and grouped; each is held against its bar and stands beside four
baselines on the same questions. Printed are MAPE, median APE and the share within 10 %.

`python -m performance prediction hidden_pair own_rows` runs these parts alone.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from performance.prediction import own_rows, timm
from performance.prediction.bars import SplitRow, print_row
from performance.prediction.speed import measure_speed
from performance.prediction.splits import TIMM_SPLITS, timm_row

_SPEED, _OWN = "speed", "own_rows"
PARTS = (*TIMM_SPLITS, _SPEED, _OWN)


def main() -> int:
    """Evaluate all parts, or those named; 1 if a bar is missed."""
    parts = sys.argv[1:] or [*PARTS]
    if unknown := [part for part in parts if part not in PARTS]:
        print(f"{' '.join(unknown)}: no part; there are {', '.join(PARTS)}")
        return 2
    missed = list[str]()
    for part in parts:
        for row in _rows(part):
            missed += [] if print_row(row) else [row.title]
        if part == _SPEED and (results := _timm()):
            missed += [] if measure_speed(results) else [part]
    left_out = [part for part in parts if part != _OWN and _timm() is None]
    if left_out:
        print(f"\nleft out, as timm's files are not there: {', '.join(left_out)}")
    print(f"\nbars missed: {', '.join(missed) or 'none'}", flush=True)
    return 1 if missed else 0


def _rows(part: str) -> Iterator[SplitRow]:
    if part == _OWN:
        yield from own_rows.own_splits()
    elif part in TIMM_SPLITS and (results := _timm()):
        yield timm_row(part, results)


@cache
def _timm() -> timm.TimmResults | None:
    data = os.environ.get("ACCELMATRIX_TEST_DATA")
    if data is None or not Path(data, "timm").is_dir():
        return None
    results = timm.read_timm(Path(data, "timm"))
    print(f"timm: {len(results.examples):,} results")
    for reason, count in results.left_out.items():
        print(f"  {count:,} left out: {reason}")
    return results


if __name__ == "__main__":
    sys.exit(main())
