"""Execute one job: `python -m runner --job /in/job.json --out /out`.

Exit status 0 says that each cell has a record.
"""

import argparse
import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
from pydantic import ValidationError

from runner.contract.errors import BenchError, JobError
from runner.contract.job import Job
from runner.contract.models.catalogue import show_folder
from runner.contract.processes import WithoutPandas
from runner.measure.clock import monotonic
from runner.measure.environment import pin_process
from runner.process import Gate, Orders, Progress, claim_stdout, die_with_parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m runner", description=__doc__)
    parser.add_argument("--job", type=Path, required=True, help="the job as JSON")
    parser.add_argument("--out", type=Path, required=True, help="an existing folder for records")
    parser.add_argument(
        "--die-with-parent",
        action="store_true",
        help="end as soon as stdin is closed; its lines are orders",
    )
    parser.add_argument("--references", type=Path, help="a folder of reference outputs")
    parser.add_argument("--graphs", type=Path, help="a folder of prepared graphs")
    parser.add_argument("--weights", type=Path, help="the folder of the model's own weights")
    options = parser.parse_args()
    if options.weights:
        show_folder(options.weights)
    orders = die_with_parent() if options.die_with_parent else None
    try:
        job = _read_job(options.job)
        execute = _executor(job, options.out, options.references, options.graphs, orders)
        pin_process(job)
        execute(Progress(claim_stdout()))
    except BenchError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _executor(
    job: Job, out: Path, references: Path | None, graphs: Path | None, orders: Orders | None
) -> Callable[[Progress], object]:
    """The function that executes the job. Each purpose imports what it takes, and no more."""
    if job.purpose == "reference":
        from runner.correctness.reference import compute_reference

        return lambda progress: compute_reference(job, out, progress, monotonic)
    if job.purpose == "prepare":
        from runner.job.prepare import prepare_graphs

        return lambda progress: prepare_graphs(job, out, progress, monotonic, graphs)
    if job.purpose == "count":
        from runner.job.prepare import count_model

        return lambda progress: count_model(job, out, progress)
    from runner.job.harness import Harness

    def measure(progress: Progress) -> None:
        gate = Gate(orders, progress) if orders and job.takes_turns else None
        Harness(job, out, progress, references, graphs, gate=gate).run()

    return measure


def _read_job(path: Path) -> Job:
    try:
        return Job.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise JobError(f"{path}: not a job this runner understands: {error}") from error


def _leave(code: int) -> NoReturn:
    """End without taking thousands of imported modules apart, which costs more than a second."""
    atexit._run_exitfuncs()  # temporary folders go
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _keep_pandas_out() -> None:
    """Make pyarrow look for pandas in vain, which it does once; a model may import it yet."""
    sys.meta_path.insert(0, WithoutPandas)
    pa.array([None])
    sys.meta_path.remove(WithoutPandas)


if __name__ == "__main__":
    _keep_pandas_out()
    _leave(main())
