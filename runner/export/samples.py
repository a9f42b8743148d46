"""Queries with the answers that torch gives in fp32: what an export is checked with."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runner.backends import load_runtime
from runner.backends.base import Array, Session
from runner.backends.graphs.feeds import KINDS, LOGITS, MASK, Tokens, start_tokens, token_input
from runner.contract.cell import Cell
from runner.contract.graph import content_of
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.inputs import Inputs, synthesise
from runner.measure.clock import monotonic
from runner.measure.environment import read_environment, usable_cpus

STEPS = 5
"""Tokens to generate: one fills the cache, the others show whether it grows as it must."""
FILLED: Mapping[str, int] = {MASK: 1, KINDS: 0}
"""What stands for each further token in arguments that go along with the prompt."""


@dataclass(frozen=True)
class Continuation:
    """What follows a prompt."""

    tokens: Tokens
    """What transformers' own `generate` takes greedily, int64 [batch, steps]."""
    logits: Array
    """What led to each of them, from one pass without a cache, [batch, steps, vocabulary]."""


def continuation(session: Session, model: ModelSpec, cell: Cell, inputs: Inputs) -> Continuation:
    """What a session of torch generates after the inputs."""
    steps = min(STEPS, _room(model, inputs))
    asked = cell.model_copy(update={"new_tokens": steps})
    tokens = session.bind_generation(asked, inputs, monotonic)().tokens
    known = _continued(model, inputs, tokens[:, :-1])
    logits = session.arrays(session.bind(asked, known)())[LOGITS]
    return Continuation(tokens, logits[:, -steps:])


def _room(model: ModelSpec, inputs: Inputs) -> int:
    """Tokens that can follow the inputs; the last one is no input any more."""
    if model.encoder_decoder:
        return model.max_new_tokens or STEPS
    if model.max_sequence_length is None:
        return STEPS
    length: int = inputs[token_input(model)].shape[1]
    return model.max_sequence_length - length + 1


def _continued(model: ModelSpec, inputs: Inputs, tokens: Tokens) -> Inputs:
    """The inputs with these tokens behind the prompt, or behind a decoder's start token."""
    if model.encoder_decoder:
        return {**inputs, token_input(model): _behind(start_tokens(model, inputs), tokens)}
    further = {name: np.full_like(tokens, value) for name, value in FILLED.items()}
    further[token_input(model)] = tokens
    return {
        name: _behind(array, further[name]) if name in further else array
        for name, array in inputs.items()
    }


def _behind(array: npt.NDArray[np.generic], more: Tokens) -> npt.NDArray[np.generic]:
    return np.concatenate([array, more.astype(array.dtype)], axis=1)


@dataclass(frozen=True)
class Sample:
    """One query, and what it should give."""

    inputs: Inputs
    """By the names of the model's arguments."""
    outputs: Mapping[str, Array]
    """By dotted path, without caches."""
    generated: Continuation | None = None
    """What follows; none where nothing is to be generated."""


def samples(job: Job, cells: Iterable[Cell]) -> list[Sample]:
    """One for each cell, every one with a seed of its own, none with the job's.

    The model is gone when this returns.
    """
    generates = content_of(job.cells[0]) == "generation"
    first = job.cells[0].model_copy(
        update={"backend": "cpu", "runtime": "torch", "precision": "fp32", "mode": "inference"}
    )
    reference = job.model_copy(update={"cells": (first,)})
    session = load_runtime("torch").open_session(reference, usable_cpus(read_environment()))
    with closing(session):
        found = []
        for number, cell in enumerate(cells, start=1):
            inputs = synthesise(job.model, cell, job.seed + number)
            outputs = session.arrays(session.bind(first, inputs)())
            more = continuation(session, job.model, cell, inputs) if generates else None
            found.append(Sample(inputs, outputs, more))
    return found
