"""Constants of `analysis/regress/study.py`: what equal launches differ by, grade by grade.

`python -m performance contention --profile quick --results DIR` measures the same cells again and
again while 0, 1, 2 and 4 other processes spin; `performance.verdicts.replicates` tells of runs of
five launches on a quiet machine. `python -m performance.aa_grades DATABASE [DATABASE ...]` looks at
what both leave. Nothing changed but the load, so that each two launches of a cell, from different
results, are a pair that no verdict may tell apart.

A pair belongs to the worse grade of its two results, at whatever load both were measured: who
compares sees the grades, not what else ran that hour, and two results of grade C may well be a busy
one and a quiet one. The distance is that of the logarithms of both launches' medians. A launch is
in many pairs, so there are fewer independent ones than pairs. A grade with fewer than a hundred
pairs has no 99th percentile here, and none of grade A were seen on this machine: results of such a
grade are judged by the next worse one that is known.

The ratio of `RUN_PRIOR` is that of the committed replicates: their variance components, all cells
alike.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np

from orchestrator.store import Store
from performance.verdicts.noise import replicate_noise

LEAST_PAIRS = 100
_RESULTS = """
    SELECT cell_id, grade, coalesce(round_medians, [latency_median_s]) AS launches
    FROM benchmark_results
    WHERE status = 'ok' AND mode <> 'startup' AND latency_median_s > 0 AND grade IS NOT NULL
    ORDER BY cell_id, recorded_at
"""


def main() -> int:
    """Print the constants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("databases", type=Path, nargs="+")
    options = parser.parse_args()
    counts, distances = grade_distances(options.databases)
    for grade, values in sorted(distances.items()):
        middle, far, most = np.quantile(values, (0.5, 0.99, 1.0))
        enough = "" if len(values) >= LEAST_PAIRS else "  too few"
        print(
            f"grade {grade}: {counts[grade]} results, {len(values)} pairs, median {middle:.3f},"
            f" 99th percentile {far:.3f}, most {most:.3f}{enough}"
        )
        data = {"measurement": "aa_grades", "grade": grade, "pairs": len(values)}
        print(json.dumps({**data, "p99": round(float(far), 4)}))
    ratio = replicate_noise().ratio
    print(f"runs differ by {ratio:.2f} of what the launches of a run differ by")
    print(json.dumps({"measurement": "aa_grades", "runs_by_launches": round(ratio, 3)}))
    return 0


def grade_distances(
    databases: Sequence[Path],
) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Results, and distances of pairs of launches as differences of logarithms, by grade."""
    counts: dict[str, int] = defaultdict(int)
    distances: dict[str, list[float]] = defaultdict(list)
    for database in databases:
        with Store.open_readonly(database) as store:
            rows = store.arrow(_RESULTS).to_pylist()
        for row in rows:
            counts[row["grade"]] += 1
        for one, other in combinations(rows, 2):
            if one["cell_id"] == other["cell_id"]:
                grade = max(one["grade"], other["grade"])
                pairs = product(one["launches"], other["launches"])
                distances[grade] += (abs(math.log(a / b)) for a, b in pairs)
    return counts, distances


if __name__ == "__main__":
    sys.exit(main())
