"""Seconds of the default matrix with profile `quick`, everything that it needs made anew.

The command of a first user runs by the process launcher into a results folder that is empty, so
that graphs, references and the database are part of it. It keeps its bar if each planned cell is
`ok` and it takes 47 times the bare process of `job_overhead` at most: 3 minutes on a quiet machine
with two cores.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.store.query.ask import query
from orchestrator.system.files import DATABASE_NAME
from performance.job_overhead import ROOT, bare_process, judged
from performance.watched import Seconds, watch
from runner.contract.models import find

LIMIT = 47
"""The highest ratio to the bare process."""
BARE_MODEL = "bert-tiny"
SOME_FAILED = 1
"""The command's exit code if a cell is not `ok`."""
PLANNED = "SELECT sum(planned)::BIGINT AS planned FROM benchmark_runs"
STATUSES = """
    SELECT status, count(*) AS cells FROM benchmark_results GROUP BY status ORDER BY status
"""


@dataclass(frozen=True)
class MatrixRun:
    """A run of a matrix, from the command to the end of its process."""

    seconds: Seconds
    planned: int
    """Cells that the plan decided to run."""
    statuses: Mapping[str, int]

    @property
    def is_ok(self) -> bool:
        """True if there are planned cells and each is `ok`."""
        return self.planned > 0 and self.statuses == {"ok": self.planned}


def main() -> int:
    """Run the matrix and print its seconds; 1 beyond the limit, or if a cell is not `ok`."""
    bare = bare_process(find(BARE_MODEL).config)
    with TemporaryDirectory() as name:
        run = run_matrix(ROOT / "matrix.yaml", Path(name, "results"))
    statuses = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
    print(f"bare process, one query    {bare}")
    print(f"the default matrix         {run.seconds}{judged(run.seconds, LIMIT, bare)}")
    print(f"cells                      {statuses} of {run.planned} planned")
    within = run.is_ok and run.seconds.wall <= LIMIT * bare.wall
    seconds = {"bare": bare.rounded, "matrix": run.seconds.rounded}
    data = {"seconds": seconds, "planned": run.planned, "statuses": dict(run.statuses)}
    print(json.dumps({"measurement": "default_matrix", **data, "within": within}), flush=True)
    return 0 if within else 1


def run_matrix(matrix: Path, results: Path, *options: str) -> MatrixRun:
    """Run all cells of the matrix with profile `quick`, into a folder that is not there yet."""
    command = ["-m", "orchestrator", "run", str(matrix), "--profile", "quick"]
    command += ["--launcher", "process", "--results", str(results), *options]
    process = watch(command, accepted=(0, SOME_FAILED))
    database = results / DATABASE_NAME
    (planned,) = query(database, PLANNED).to_pylist()
    rows = query(database, STATUSES).to_pylist()
    statuses = {row["status"]: row["cells"] for row in rows}
    return MatrixRun(process.end, planned["planned"] or 0, statuses)


if __name__ == "__main__":
    sys.exit(main())
