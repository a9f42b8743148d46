"""Queries with torch's outputs in fp32, with which an export is checked."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Session
from runner.backends.graphs.feeds import LOGITS, Tokens, token_input
from runner.contract.cell import Cell
from runner.contract.graph import graph_kind
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.correctness.reference import continued
from runner.inputs import Inputs, padded, synthesise
from runner.measure.clock import monotonic
from runner.measure.environment import job_threads

_STEPS = 5
"""Tokens to generate: one fills the cache, the others show whether it grows as it must."""


@dataclass(frozen=True)
class Continuation:
    """The tokens that follow a prompt."""

    tokens: Tokens
    """Greedy tokens of transformers' own `generate`, int64 [batch, steps]."""
    logits: FloatArray
    """The logits before each of them, from one pass without a cache, [batch, steps, vocabulary]."""


def continuation(session: Session, model: ModelSpec, cell: Cell, inputs: Inputs) -> Continuation:
    """The continuation of the inputs by a session of torch."""
    steps = min(_STEPS, _tokens_left(model, inputs))
    generating = cell.model_copy(update={"new_tokens": steps})
    tokens = session.bind_generation(generating, inputs, monotonic)().tokens
    known = continued(model, inputs, tokens[:, :-1])
    logits = session.arrays(session.bind(generating, known)())[LOGITS]
    return Continuation(tokens, logits[:, -steps:])


def _tokens_left(model: ModelSpec, inputs: Inputs) -> int:
    """The number of tokens that can follow the inputs; the last one is never an input."""
    if model.encoder_decoder:
        return model.max_new_tokens or _STEPS
    if model.max_sequence_length is None:
        return _STEPS
    length: int = inputs[token_input(model)].shape[1]
    return model.max_sequence_length - length + 1


@dataclass(frozen=True)
class Sample:
    """One query, and torch's outputs."""

    inputs: Inputs
    """By the names of the model's arguments."""
    outputs: Mapping[str, FloatArray]
    """By dotted path, without caches."""
    generated: Continuation | None = None
    """The generated tokens; None for a forward pass."""


def samples(job: Job, cells: Iterable[Cell]) -> list[Sample]:
    """One sample for each cell, each with a seed of its own, none with the job's.

    Behind them stands the first one padded, unless the model generates: prepared graphs generate
    after full prompts alone.

    The model is dropped at the end.
    """
    generates = graph_kind(job.cells[0]) == "generation"
    first = job.cells[0].model_copy(
        update={"backend": "cpu", "runtime": "torch", "precision": "fp32", "mode": "inference"}
    )
    reference = job.model_copy(update={"cells": (first,)})
    session = load_runtime("torch").open_session(reference, job_threads(job))
    with closing(session):
        results = []
        for number, cell in enumerate(cells, start=1):
            inputs = synthesise(job.model, cell, job.weights_seed + number)
            outputs = session.arrays(session.bind(first, inputs)())
            more = continuation(session, job.model, cell, inputs) if generates else None
            results.append(Sample(inputs, outputs, more))
        if not generates:
            inputs = padded(results[0].inputs)
            results.append(Sample(inputs, session.arrays(session.bind(first, inputs)())))
    return results
