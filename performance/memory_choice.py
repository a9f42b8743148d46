"""Memory choice: how often a recommended batch runs out of memory, and how much of it is used.

The series of `performance/data/memory_rows.zip` were measured under `limits.memory` until they
ended as out_of_memory. Each model in turn is hidden from the predictor, and the largest batch that
`recommend --memory` would choose for each of its series is looked up there: at most 5 % may have
run out of memory. The same is done for predictors that know the model's smallest batch, and its
three smallest: these choices should use 75 % of the limit.

`python -m performance memory_choice --measure DIR` measures the series anew, in some half an hour
on two idle cores, and leaves the bundle in the folder.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.store import Store
from performance.memory_study.choices import (
    LEAST_USE,
    choices_of_series,
    merged_bundle,
    report_choices,
)
from performance.memory_study.series import measure_series

BUNDLE = Path(__file__).parent / "data/memory_rows.zip"


def main() -> int:
    """Measure the series, or judge the choices; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path, metavar="DIR", help="measure into this folder")
    parser.add_argument("--bundle", type=Path, default=BUNDLE, help="the series to judge by")
    options = parser.parse_args()
    if options.measure:
        return measure_series(options.measure)
    with TemporaryDirectory() as folder:
        database = merged_bundle(options.bundle, Path(folder))
        with Store.open_readonly(database) as store:
            unseen, begun, known = (
                list(choices_of_series(store, measured=count)) for count in (0, 1, 3)
            )
    held = [
        report_choices("models that were not seen", unseen),
        report_choices("models of which the smallest batch was measured", begun),
        report_choices("models of which the three smallest were measured", known, LEAST_USE),
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
