"""References: outputs of the fp32 model on the CPU, computed once per model and seed."""

import traceback
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from runner.agreement import Array
from runner.backends import load_runtime
from runner.cell import Job
from runner.errors import BenchError
from runner.fixed_input import TOKENS, outputs_of, tokens_of
from runner.measure.clock import Clock
from runner.measure.environment import read_environment, usable_cpus
from runner.progress import Progress
from runner.whole_files import save_text, save_whole


def compute_reference(job: Job, out: Path, progress: Progress, clock: Clock) -> None:
    """Write `<reference_key>.npz`, or `<reference_key>.failed` with the reason.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    progress.phase("load")
    try:
        arrays = _reference(job, clock)
    except Exception as error:  # whatever a model raises is the reason that others read
        reason = "".join(traceback.format_exception_only(error)).strip()
        save_text(out / f"{job.reference_key}.failed", reason)
    else:
        save_whole(
            out / f"{job.reference_key}.npz",
            lambda file: np.savez(file, allow_pickle=False, **arrays),
        )


def _reference(job: Job, clock: Clock) -> dict[str, Array]:
    runtime = load_runtime(job.cells[0].runtime)
    with closing(runtime.open_session(job, usable_cpus(read_environment()))) as session:
        arrays: dict[str, Array] = dict(outputs_of(session, job))
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise BenchError("its outputs hold NaN or infinity")
        with suppress(Exception):  # not every model generates, and no other cell needs it
            arrays[TOKENS] = tokens_of(session, job, clock)
    return arrays
