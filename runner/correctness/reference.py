"""References: outputs of the fp32 model on the CPU, once per model, kind of graph and seed.

Generation is compared by teacher forcing: every step of a decode loop is fed the same tokens, so
that no near tie makes all that follow differ. The tokens are drawn, since greedy ones of random
weights soon repeat, and a cache of equal entries would hide that it is not read.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Generator, Session
from runner.backends.graphs.feeds import LOGITS, MODALITIES, Tokens, start_tokens, token_input
from runner.contract.artifact_keys import REFERENCES, check_key, reference_key
from runner.contract.axes import SIZE_AXES, Precision, TrainingPrecision
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, JobError, Unsupported, reason_of
from runner.contract.files import save_file, save_text
from runner.contract.graph import graph_kind, reference_kind
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason, write_reason
from runner.correctness.differences import QUERY_PREFIXES, AnyArray
from runner.correctness.gradients import honest_step, step_arrays
from runner.correctness.honest import honest_arrays, is_lack
from runner.correctness.named_precision import weight_arrays
from runner.inputs import MASK, Inputs, padded, synthesise, synthesise_labels
from runner.measure.clock import Clock
from runner.measure.environment import job_threads
from runner.measure.phases import garbage_collection_off, heap_set_aside
from runner.process import Progress

BATCH_SIZE = 2
SEQUENCE_LENGTH = 32
NEW_TOKENS = 16
GENERATED_TOKENS = "generated_tokens"
"""The name under which a reference keeps generated tokens, beside the outputs."""
STEPS = "steps.logits"  # the name of the logits of all decode steps
MOST_PARAMETERS = 700_000_000
"""Above, other precisions are not computed: they would take minutes on a CPU."""
_QUERIES_OF_TEXT, _OTHER_QUERIES = 2, 4
"""Fixed queries of models that take text, which have many rows a query, and of others, which often
have one a sample."""
_FILLED: Mapping[str, int] = {MASK: 1, MODALITIES: 0}
"""The value for each further token in arguments beside the prompt."""
_STREAM = 2  # the stream of random numbers, beside those of inputs and labels


def fixed_cell(job: Job) -> Cell:
    """The cell that verifies every session of this model, with the smallest images and sounds."""
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
    cell = fixed_cell(job)
    return {
        f"{prefix}{name}": np.array(array)
        for prefix, inputs in fixed_queries(job).items()
        for name, array in session.arrays(session.bind(cell, inputs)()).items()
    }


def bind_fixed_prompt(session: Session, job: Job, clock: Clock) -> Generator:
    cell = fixed_cell(job)
    return session.bind_generation(cell, synthesise(job.model, cell, job.weights_seed), clock)


def compute_steps(session: Session, job: Job, clock: Clock) -> dict[str, FloatArray]:
    """The logits of every decode step that is made to take drawn tokens; empty without tokens."""
    tokens = _forced_tokens(job)
    return {} if tokens is None else {STEPS: bind_fixed_prompt(session, job, clock).forced(tokens)}


def compute_step(session: Session, job: Job, clock: Clock) -> dict[str, AnyArray]:
    cell = fixed_cell(job)
    batch = {
        **synthesise(job.model, cell, job.weights_seed),
        **synthesise_labels(job.model, cell, job.weights_seed),
    }
    with closing(session.bind_training(cell, batch, clock)) as trainer:
        return step_arrays(trainer.rehearse())


def compute_reference(job: Job, out: Path, progress: Progress, clock: Clock) -> None:
    """Write `<job.reference>.npz`, or `<job.reference>.failed` with the reason."""
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
    tokens: dict[str, AnyArray] = {}
    with _opened(job) as session:
        arrays = _outputs(session, job)
        if graph_kind(job.cells[0]) == "generation":
            tokens[GENERATED_TOKENS] = bind_fixed_prompt(session, job, clock)().tokens
        parameters, weights = session.parameters, weight_arrays(session)
    _require_finite(arrays)
    compute = partial(_outputs_in, job, parameters)
    return {**arrays, **honest_arrays(arrays, compute, job.honest), **tokens, **weights}


def _training_arrays(job: Job, clock: Clock) -> dict[str, AnyArray]:
    """Outputs and one step in fp32, and differences; bf16 stands for fp16, slow on CPUs."""
    with _opened(job) as session:
        outputs: dict[str, AnyArray] = dict(compute_outputs(session, job))
        arrays = {**outputs, **compute_step(session, job, clock)}
        parameters, weights = session.parameters, weight_arrays(session)
    _require_finite(arrays)
    compute = partial(_outputs_in, _in_bf16(job, "pure"), parameters)
    honest = honest_arrays(outputs, compute, job.honest)
    kinds: tuple[TrainingPrecision, ...] = ("mixed", "pure") if "bf16" in job.honest else ("mixed",)
    for kind in kinds if parameters <= MOST_PARAMETERS and job.honest else ():
        other = _in_bf16(job, kind)
        try:
            with _opened(other) as session:
                honest |= honest_step(arrays, compute_step(session, other, clock), kind)
        except Exception as error:
            if not is_lack(error):
                raise
    return {**arrays, **honest, **weights}


def _in_bf16(job: Job, training_precision: TrainingPrecision) -> Job:
    update = {"precision": "bf16", "training_precision": training_precision}
    return job.model_copy(update={"cells": (job.cells[0].model_copy(update=update),)})


def _require_finite(arrays: Mapping[str, AnyArray]) -> None:
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise BenchError(reason("outputs_not_finite"))


def _outputs_in(job: Job, parameters: int, precision: Precision) -> dict[str, AnyArray]:
    if parameters > MOST_PARAMETERS:
        facts = {"model": job.model.name, "most": MOST_PARAMETERS, "precision": precision}
        raise Unsupported(reason("too_many_parameters", **facts))
    cell = job.cells[0].model_copy(update={"precision": precision})
    with _opened(job.model_copy(update={"cells": (cell,)})) as session:
        return _outputs(session, job)


def _outputs(session: Session, job: Job) -> dict[str, AnyArray]:
    """The outputs; of a generation also the logits of the steps, from one pass without a cache."""
    arrays: dict[str, AnyArray] = dict(compute_outputs(session, job))
    tokens = _forced_tokens(job) if graph_kind(job.cells[0]) == "generation" else None
    if tokens is not None:
        cell = fixed_cell(job)
        prompt = synthesise(job.model, cell, job.weights_seed)
        inputs = continued(job.model, prompt, tokens[:, :-1])
        logits = session.arrays(session.bind(cell, inputs)())[LOGITS]
        arrays[STEPS] = logits[:, -tokens.shape[1] :]
    return arrays


@contextmanager
def _opened(job: Job) -> Iterator[Session]:
    with garbage_collection_off():
        runtime = load_runtime(job.cells[0].runtime)
        session = runtime.open_session(job, job_threads(job))
    with heap_set_aside(), closing(session):
        yield session


def _forced_tokens(job: Job) -> Tokens | None:
    """Drawn tokens, int64 [batch, steps]; None if the model takes no tokens."""
    cell, model = fixed_cell(job), job.model
    specs = [spec for spec in model.inputs if spec.name == token_input(model)]
    if not specs or specs[0].high is None or cell.new_tokens is None:
        return None
    size = (cell.batch_size, min(cell.new_tokens, model.max_new_tokens or cell.new_tokens))
    generator = np.random.default_rng((job.weights_seed, _STREAM))
    return generator.integers(specs[0].low, specs[0].high, size=size, dtype=np.int64)


def continued(model: ModelSpec, inputs: Inputs, tokens: Tokens) -> Inputs:
    """The inputs with these tokens behind the prompt, or behind a decoder's start token."""
    if model.encoder_decoder:
        return {**inputs, token_input(model): _behind(start_tokens(model, inputs), tokens)}
    further = {name: np.full_like(tokens, value) for name, value in _FILLED.items()}
    further[token_input(model)] = tokens
    return {
        name: _behind(array, further[name]) if name in further else array
        for name, array in inputs.items()
    }


def _behind(array: npt.NDArray[np.generic], more: Tokens) -> npt.NDArray[np.generic]:
    return np.concatenate([array, more.astype(array.dtype)], axis=1)
