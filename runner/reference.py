"""References: what the fp32 model computes on the CPU, once per model, content and seed."""

from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from runner.agreement import Array
from runner.backends import load_runtime
from runner.cell import Job
from runner.errors import BenchError, JobError
from runner.failures import reason_of
from runner.fixed_input import TOKENS, outputs_of, tokens_of
from runner.graph import content_of
from runner.keys import REFERENCES, check_key, reference_key
from runner.measure.clock import Clock
from runner.measure.environment import read_environment, usable_cpus
from runner.progress import Progress
from runner.whole_files import save_text, save_whole


def compute_reference(job: Job, out: Path, progress: Progress, clock: Clock) -> None:
    """Write `<job.reference>.npz`, or `<job.reference>.failed` with the reason.

    Raises:
        JobError: the job names no reference.
        RecordNotSaved: the folder takes no more files.
    """
    name = job.reference
    if name is None:
        raise JobError(f"{job.id}: a job that computes a reference names it, this one does not")
    progress.phase("load")
    content = content_of(job.cells[0])
    try:
        check_key(name, REFERENCES, partial(reference_key, job.model, content, job.seed))
        arrays = _reference(job, clock)
    except Exception as error:  # whatever a model raises is the reason that others read
        save_text(out / f"{name}.failed", reason_of(error))
    else:
        save_whole(out / f"{name}.npz", lambda file: np.savez(file, allow_pickle=False, **arrays))


def _reference(job: Job, clock: Clock) -> dict[str, Array]:
    """The outputs, and for jobs that generate the tokens: without them nothing is compared."""
    runtime = load_runtime(job.cells[0].runtime)
    with closing(runtime.open_session(job, usable_cpus(read_environment()))) as session:
        arrays: dict[str, Array] = dict(outputs_of(session, job))
        if content_of(job.cells[0]) == "generation":
            arrays[TOKENS] = tokens_of(session, job, clock)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise BenchError("its outputs hold NaN or infinity")
    return arrays
