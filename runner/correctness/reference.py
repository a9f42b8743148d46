"""References: outputs of the fp32 model on the CPU, once per model, kind of graph and seed."""

from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Session, failure_reason
from runner.contract.artifact_keys import REFERENCES, check_key, reference_key
from runner.contract.axes import SIZE_AXES
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, JobError
from runner.contract.files import save_file, save_text
from runner.contract.graph import graph_kind
from runner.contract.job import Job
from runner.correctness.compare_outputs import AnyArray
from runner.inputs import synthesise
from runner.measure.clock import Clock
from runner.measure.environment import read_environment, usable_cpus
from runner.process.streams import Progress

BATCH_SIZE = 2
SEQUENCE_LENGTH = 32
NEW_TOKENS = 16
GENERATED_TOKENS = "generated_tokens"
"""The name under which a reference keeps generated tokens, beside the outputs."""


def fixed_cell(job: Job) -> Cell:
    """The cell whose shape is used to verify every session of this model.

    Images and sounds are the smallest that the model takes.
    """
    model = job.model
    longest = model.max_sequence_length or 2 * SEQUENCE_LENGTH
    length = max(1, min(SEQUENCE_LENGTH, longest - NEW_TOKENS))
    ranges = {name: getattr(model, name, None) for name in SIZE_AXES}
    smallest = {name: allowed.least if allowed else None for name, allowed in ranges.items()}
    sizes = {
        "batch_size": BATCH_SIZE,
        "sequence_length": length if model.takes_sequence else None,
        "new_tokens": max(1, min(NEW_TOKENS, longest - length)),
    }
    return job.cells[0].model_copy(update=smallest | sizes)


def compute_outputs(session: Session, job: Job) -> dict[str, FloatArray]:
    """The outputs for the fixed input, by name."""
    cell = fixed_cell(job)
    query = session.bind(cell, synthesise(job.model, cell, job.seed))
    return dict(session.arrays(query()))


def generate_tokens(session: Session, job: Job, clock: Clock) -> npt.NDArray[np.int64]:
    """The tokens generated after the fixed prompt."""
    cell = fixed_cell(job)
    generate = session.bind_generation(cell, synthesise(job.model, cell, job.seed), clock)
    return generate().tokens


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
    content = graph_kind(job.cells[0])
    try:
        check_key(name, REFERENCES, partial(reference_key, job.model, content, job.seed))
        arrays = _reference(job, clock)
    except Exception as error:  # a model may raise anything; it becomes the recorded reason
        save_text(out / f"{name}.failed", failure_reason(error))
    else:
        save_file(out / f"{name}.npz", lambda file: np.savez(file, allow_pickle=False, **arrays))


def _reference(job: Job, clock: Clock) -> dict[str, AnyArray]:
    """The outputs, and for jobs that generate the tokens, which are compared too."""
    runtime = load_runtime(job.cells[0].runtime)
    with closing(runtime.open_session(job, usable_cpus(read_environment()))) as session:
        arrays: dict[str, AnyArray] = dict(compute_outputs(session, job))
        if graph_kind(job.cells[0]) == "generation":
            arrays[GENERATED_TOKENS] = generate_tokens(session, job, clock)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise BenchError("its outputs hold NaN or infinity")
    return arrays
