"""References: outputs of the fp32 model on the CPU, once per model, kind of graph and seed."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Session
from runner.backends.graphs.feeds import LOGITS, Tokens
from runner.contract.artifact_keys import REFERENCES, check_key, reference_key
from runner.contract.axes import SIZE_AXES, TrainingPrecision
from runner.contract.cell import Cell, Precision
from runner.contract.errors import BenchError, JobError, Unsupported, reason_of
from runner.contract.files import save_file, save_text
from runner.contract.graph import graph_kind, reference_kind
from runner.contract.job import Job
from runner.contract.reasons import reason, write_reason
from runner.correctness.continuation import continued, forced_tokens
from runner.correctness.differences import QUERY_PREFIXES, AnyArray
from runner.correctness.gradients import honest_step, step_arrays
from runner.correctness.honest import honest_arrays, is_lack
from runner.inputs import Inputs, padded, synthesise, synthesise_labels
from runner.measure.clock import Clock
from runner.measure.environment import job_threads
from runner.measure.phases import garbage_collection_off, heap_set_aside
from runner.process import Progress

BATCH_SIZE = 2
SEQUENCE_LENGTH = 32
NEW_TOKENS = 16
GENERATED_TOKENS = "generated_tokens"
"""The name under which a reference keeps generated tokens, beside the outputs."""
STEPS = "steps.logits"
"""The name of the logits of all decode steps."""
MOST_PARAMETERS = 700_000_000
"""Above, other precisions are not computed: they would take minutes on a CPU."""
_QUERIES_OF_TEXT, _OTHER_QUERIES = 2, 4
"""Fixed queries of models that take text, which have many rows a query, and of others, which often
have one a sample."""


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


def fixed_queries(job: Job) -> dict[str, Inputs]:
    """The inputs of the fixed queries, by the prefix of their outputs' names.

    Each is drawn from a seed of its own. The second is padded if the model takes a mask; prompts
    that are generated from are not, since prepared graphs generate after full ones alone.
    """
    cell = fixed_cell(job)
    count = _QUERIES_OF_TEXT if job.model.takes_sequence else _OTHER_QUERIES
    queries = {
        prefix: synthesise(job.model, cell, job.weights_seed + number)
        for number, prefix in enumerate(QUERY_PREFIXES[:count])
    }
    if graph_kind(job.cells[0]) == "forward":
        second = QUERY_PREFIXES[1]
        queries[second] = padded(queries[second])
    return queries


def compute_outputs(session: Session, job: Job) -> dict[str, FloatArray]:
    """The outputs for the fixed queries, by name."""
    cell = fixed_cell(job)
    return {
        f"{prefix}{name}": np.array(array)
        for prefix, inputs in fixed_queries(job).items()
        for name, array in session.arrays(session.bind(cell, inputs)()).items()
    }


def generate_tokens(session: Session, job: Job, clock: Clock) -> Tokens:
    """The tokens generated after the fixed prompt."""
    cell = fixed_cell(job)
    generate = session.bind_generation(cell, synthesise(job.model, cell, job.weights_seed), clock)
    return generate().tokens


def compute_choices(session: Session, job: Job, tokens: Tokens, clock: Clock) -> FloatArray:
    """The logits before each of the tokens that this session generated after the fixed prompt."""
    cell = fixed_cell(job)
    inputs = synthesise(job.model, cell, job.weights_seed)
    return session.bind_generation(cell, inputs, clock).forced(tokens)


def compute_steps(session: Session, job: Job, clock: Clock) -> dict[str, FloatArray]:
    """The logits of every decode step after the fixed prompt, as it is made to take drawn tokens.

    Empty for a model that takes no tokens.
    """
    cell = fixed_cell(job)
    tokens = forced_tokens(job.model, cell, job.weights_seed)
    if tokens is None:
        return {}
    inputs = synthesise(job.model, cell, job.weights_seed)
    return {STEPS: session.bind_generation(cell, inputs, clock).forced(tokens)}


def compute_step(session: Session, job: Job, clock: Clock) -> dict[str, AnyArray]:
    """Loss, gradients and updates of one training step on the fixed batch."""
    cell = fixed_cell(job)
    batch = {
        **synthesise(job.model, cell, job.weights_seed),
        **synthesise_labels(job.model, cell, job.weights_seed),
    }
    with closing(session.bind_training(cell, batch, clock)) as trainer:
        return step_arrays(trainer.rehearse())


def _steps_at_once(session: Session, job: Job) -> dict[str, AnyArray]:
    """The same logits from one pass over prompt and tokens, which needs no cache."""
    cell = fixed_cell(job)
    tokens = forced_tokens(job.model, cell, job.weights_seed)
    if tokens is None:
        return {}
    inputs = continued(job.model, synthesise(job.model, cell, job.weights_seed), tokens[:, :-1])
    logits = session.arrays(session.bind(cell, inputs)())[LOGITS]
    return {STEPS: logits[:, -tokens.shape[1] :]}


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
    content = reference_kind(job.cells[0])
    try:
        check_key(name, REFERENCES, partial(reference_key, job.model, content, job.weights_seed))
        arrays = reference_arrays(job, clock)
    except Exception as error:  # a model may raise anything; it becomes the recorded reason
        save_text(out / f"{name}.failed", write_reason(reason_of(error)))
    else:
        save_file(out / f"{name}.npz", lambda file: np.savez(file, allow_pickle=False, **arrays))


def reference_arrays(job: Job, clock: Clock) -> dict[str, AnyArray]:
    """Outputs, tokens and steps in fp32, and the differences of the job's other precisions."""
    if job.cells[0].mode == "training":
        return _training_arrays(job, clock)
    generates = graph_kind(job.cells[0]) == "generation"
    with _opened(job) as session:
        arrays = _outputs(session, job)
        tokens = generate_tokens(session, job, clock) if generates else None
        small = session.parameters <= MOST_PARAMETERS
    _require_finite(arrays)
    compute = partial(_outputs_in if small else _refuse_large, job)
    honest = honest_arrays(arrays, compute, job.honest)
    return {**arrays, **honest, **({} if tokens is None else {GENERATED_TOKENS: tokens})}


def _training_arrays(job: Job, clock: Clock) -> dict[str, AnyArray]:
    """Outputs and one training step in fp32, and the differences of lower precisions.

    A step in bf16 stands for fp16 too, which takes seconds on many CPUs.
    """
    with _opened(job) as session:
        outputs: dict[str, AnyArray] = dict(compute_outputs(session, job))
        arrays = {**outputs, **compute_step(session, job, clock)}
        small = session.parameters <= MOST_PARAMETERS
    _require_finite(arrays)
    compute = partial(_outputs_in if small else _refuse_large, _in_bf16(job, "pure"))
    honest = honest_arrays(outputs, compute, job.honest)
    kinds: tuple[TrainingPrecision, ...] = ("mixed", "pure") if "bf16" in job.honest else ("mixed",)
    for kind in kinds if small and job.honest else ():
        other = _in_bf16(job, kind)
        try:
            with _opened(other) as session:
                honest |= honest_step(arrays, compute_step(session, other, clock), kind)
        except Exception as error:
            if not is_lack(error):
                raise
    return {**arrays, **honest}


def _in_bf16(job: Job, training_precision: TrainingPrecision) -> Job:
    update = {"precision": "bf16", "training_precision": training_precision}
    return job.model_copy(update={"cells": (job.cells[0].model_copy(update=update),)})


def _require_finite(arrays: Mapping[str, AnyArray]) -> None:
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise BenchError(reason("outputs_not_finite"))


def _outputs(session: Session, job: Job) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = dict(compute_outputs(session, job))
    if graph_kind(job.cells[0]) == "generation":
        arrays |= _steps_at_once(session, job)
    return arrays


def _outputs_in(job: Job, precision: Precision) -> dict[str, AnyArray]:
    cell = job.cells[0].model_copy(update={"precision": precision})
    with _opened(job.model_copy(update={"cells": (cell,)})) as session:
        return _outputs(session, job)


def _refuse_large(job: Job, precision: Precision) -> dict[str, AnyArray]:
    raise Unsupported(
        reason(
            "too_many_parameters", model=job.model.name, most=MOST_PARAMETERS, precision=precision
        )
    )


@contextmanager
def _opened(job: Job) -> Iterator[Session]:
    with garbage_collection_off():
        runtime = load_runtime(job.cells[0].runtime)
        session = runtime.open_session(job, job_threads(job))
    with heap_set_aside(), closing(session):
        yield session
