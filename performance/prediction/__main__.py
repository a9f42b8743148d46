"""Accuracy of predictions on splits that hide what a question would not know.

`ACCELMATRIX_TEST_DATA` names the folder with the results of timm and vidur; without it, splits of
those are left out. Splits are seeded and grouped; each is held against its bar and stands beside
four baselines on the same questions. Printed are MAPE, median APE and the share within 10 %.

`python -m performance prediction hidden_pair vidur` runs these splits alone; with a file's name
behind them, predictions of the first are drawn against what was measured.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from analysis.charts.predictions.accuracy import accuracy_chart
from analysis.predict.examples.targets import Target
from orchestrator.screen.chart_files import save_chart
from performance.prediction import own_rows, timm, vidur
from performance.prediction.bars import SplitRow
from performance.prediction.printing import markdown_rows, print_row
from performance.prediction.small_tables import evaluate_small_tables
from performance.prediction.speed import measure_speed
from performance.prediction.splits import TIMM_SPLITS, timm_row, vidur_row

DRAWINGS = (".png", ".svg", ".html")
_OF_TIMM: Mapping[str, Callable[[timm.TimmResults], bool]] = {
    "small_tables": evaluate_small_tables,
    "speed": measure_speed,
}
_VIDUR, _OWN = "vidur", "own_rows"
PARTS = (*TIMM_SPLITS, _VIDUR, *_OF_TIMM, _OWN)


def main() -> int:
    """Evaluate all parts, or those named; 1 if a bar is missed."""
    drawings = [Path(word) for word in sys.argv[1:] if word.endswith(DRAWINGS)]
    parts = [word for word in sys.argv[1:] if not word.endswith(DRAWINGS)] or [*PARTS]
    if unknown := [part for part in parts if part not in PARTS]:
        print(f"{' '.join(unknown)}: no part; there are {', '.join(PARTS)}")
        return 2
    rows, missed = list[SplitRow](), list[str]()
    for part in parts:
        for row in _rows(part):
            rows.append(row)
            missed += [] if print_row(row) else [row.title]
            if drawings:
                _draw(row, drawings.pop(0))
        if part in _OF_TIMM and (results := _timm()):
            missed += [] if _OF_TIMM[part](results) else [part]
    if left_out := _left_out(parts):
        print(f"\nleft out: {', '.join(left_out)}")
    if rows:
        print("", *markdown_rows(rows), sep="\n")
    print(f"\nbars missed: {', '.join(missed) or 'none'}", flush=True)
    return 1 if missed else 0


def _rows(part: str) -> Iterator[SplitRow]:
    if part == _OWN:
        yield from own_rows.own_splits()
    elif part == _VIDUR and (folder := _folder(_VIDUR)):
        yield vidur_row(vidur.longer_inputs(vidur.read_vidur(folder)))
    elif part in TIMM_SPLITS and (results := _timm()):
        yield timm_row(part, results)


def _left_out(parts: Sequence[str]) -> list[str]:
    """The parts whose files are not there."""
    needs = {part: _VIDUR if part == _VIDUR else "timm" for part in parts if part != _OWN}
    missing = [part for part, name in needs.items() if _folder(name) is None]
    return [*missing, "their files are not in ACCELMATRIX_TEST_DATA"] if missing else []


@cache
def _timm() -> timm.TimmResults | None:
    folder = _folder("timm")
    if folder is None:
        return None
    results = timm.read_timm(folder)
    print(f"timm: {len(results.examples):,} results")
    for reason, count in results.left_out.items():
        print(f"  {count:,} left out: {reason}")
    return results


def _folder(name: str) -> Path | None:
    """The folder of that name in the test data; None where it is not there."""
    data = os.environ.get("ACCELMATRIX_TEST_DATA")
    folder = Path(data, name) if data else None
    return folder if folder is not None and folder.is_dir() else None


def _draw(row: SplitRow, path: Path) -> None:
    target: Target = vidur.TARGET if row.name == _VIDUR else timm.TARGET
    chart = accuracy_chart(row.whole, target, row.title)
    if chart is not None:
        save_chart(chart, path)
        print(f"drawn into {path}")


if __name__ == "__main__":
    sys.exit(main())
