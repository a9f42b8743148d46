"""Queries with the answers that torch gives in fp32: what an export is checked with."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from runner.backends import load_runtime
from runner.backends.base import Array
from runner.cell import Cell, Job
from runner.export.generation_samples import Continuation, continuation
from runner.graph import content_of
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus


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
