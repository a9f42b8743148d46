"""Replicates: launches of cells of one machine that did not change, run after run.

`python -m performance.verdicts.replicates DATABASE` writes those of a database into the file that
simulations read: the median of each launch of each run with the most usual number of launches, and
the grade of the result. No name of a host is among them. The committed ones are 8 runs of 5
launches of four cells, measured one after the other on a virtual machine with 2 cores that did
nothing else: bert-tiny by torch, ONNX Runtime and OpenVINO, and the generation of gpt2-micro, by
`orchestrator bench --rounds 5`.
"""

import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.store import Store

REPLICATES = Path(__file__).parents[1] / "data" / "replicates.parquet"
_LAUNCHES = """
    SELECT cell_id AS cell, dense_rank() OVER (ORDER BY run_id) - 1 AS run,
        generate_subscripts(round_medians, 1) - 1 AS launch, unnest(round_medians) AS median_s,
        grade, recorded_at AS measured_at
    FROM benchmark_results
    WHERE status = 'ok' AND len(round_medians) = {launches}
    ORDER BY cell, run, launch
"""


def main() -> int:
    """Write the replicates of a database."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    table = replicates_of(Path(sys.argv[1]))
    REPLICATES.parent.mkdir(exist_ok=True)
    pq.write_table(table, REPLICATES, compression="zstd")
    print(f"{len(table)} launches in {REPLICATES.name}")
    return 0


def replicates_of(database: Path) -> pa.Table:
    """The launches of each cell and run, by their numbers, with the median in seconds."""
    with Store.open_readonly(database) as store:
        rows = store.arrow("SELECT len(round_medians) AS n FROM benchmark_results").to_pydict()
        usual = Counter(count for count in rows["n"] if count and count > 1).most_common(1)[0][0]
        return store.arrow(_LAUNCHES.format(launches=usual))


if __name__ == "__main__":
    sys.exit(main())
