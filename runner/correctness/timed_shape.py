"""Outputs at a timed shape, of runtimes that compile another program for each shape.

The fixed samples are put into a query of the timed shape: repeated over the batch, and followed by
other tokens that they must not see. So the reference of the fixed shape holds what must come out.
What the other tokens give is not compared, nor is a training step, whose loss is over the batch.
"""

from collections.abc import Mapping

import numpy as np

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.graph import DYNAMIC, fixed_shape
from runner.contract.job import Job
from runner.contract.models import ModelSpec, sizes_of
from runner.contract.record.record import Columns
from runner.contract.support import SUPPORTED, generates
from runner.correctness.compare_outputs import judge_outputs
from runner.correctness.differences import AnyArray, Arrays, Difference, output_name
from runner.correctness.reference import BATCH_SIZE, GENERATED_TOKENS, STEPS, fixed_cell
from runner.inputs import MASK, Inputs, synthesise

_MOST_VALUES = 1 << 26
"""Values of all outputs at most, 256 MiB in fp32: they are copied to the host."""
_COMPILING = ("torch_compile", "openvino")
_FIXED = "fixed"
"""The beginning of a session's option `shapes` where its graph was loaded for one shape."""
_GROWING = ("batch_size", "sequence_length", "prompt_length")
"""Sizes in which a timed shape may differ from the fixed one."""


def is_compiled_for(cell: Cell, columns: Columns) -> bool:
    """True if what the cell times goes through a program of that one shape.

    No generation does, since its cache grows with each token: graphs that generate stay dynamic, or
    have a program for each length of the cache. The columns are the session's, with that shape
    bound last.
    """
    if cell.mode == "training":
        return False
    if not str(columns.get("graph") or DYNAMIC).endswith(DYNAMIC):
        return True
    compiles = cell.runtime in _COMPILING or cell.backend == "qnn"
    possible = (cell.backend, cell.runtime, cell.mode) in SUPPORTED
    shapes = str((columns.get("execution_options") or {}).get("shapes"))
    return shapes.startswith(_FIXED) or (compiles and possible and not shapes.startswith(DYNAMIC))


def timed_query(job: Job, cell: Cell) -> Inputs | None:
    """A query of the cell's shape that holds the fixed samples.

    None if it cannot: the shape is the fixed one, images or sounds have another size, or tokens
    that follow would be seen.
    """
    model, fixed = job.model, fixed_cell(job)
    if fixed_shape(cell) == fixed_shape(fixed) or _media(model, cell) != _media(model, fixed):
        return None
    query, samples = (synthesise(model, one, job.weights_seed) for one in (cell, fixed))
    more = (cell.sequence_length or 0) - (fixed.sequence_length or 0)
    looks_ahead = not generates(model) or model.encoder_decoder
    if looks_ahead and (more < 0 or (more > 0 and MASK not in query)):
        return None
    if looks_ahead and more > 0:
        query = {**query, MASK: np.zeros_like(query[MASK])}
    return {name: _begun(array, samples[name]) for name, array in query.items()}


def compare_timed(
    session: Session, job: Job, cell: Cell, reference: Arrays, allowed: Mapping[str, Difference]
) -> Columns | None:
    """The columns of the comparison at the cell's shape; None if it cannot be made.

    Call it with the cell's shape bound last, so that nothing is compiled again. An output whose
    first axis has neither samples nor a known number of values for each is left out.
    """
    query = timed_query(job, cell)
    own_names = (name for name in reference if name == output_name(name))
    first = {name: reference[name] for name in own_names if name not in (STEPS, GENERATED_TOKENS)}
    if query is None or _values(first, job, cell) > _MOST_VALUES:
        return None
    outputs = session.arrays(session.bind(cell, query)())
    if outputs.keys() != first.keys():
        return judge_outputs(outputs, first, allowed, cell.precision)
    pairs = {
        name: pair
        for name, array in outputs.items()
        if (pair := _matched(array, first[name], cell.batch_size)) is not None
    }
    if not pairs:
        return None
    ours = {name: np.array(pair[0]) for name, pair in pairs.items()}
    theirs = {name: pair[1] for name, pair in pairs.items()}
    # One sample's mean is over fewer rows than the honest one.
    tolerances = {
        name: allowed[name]._replace(mean=allowed[name].row, shared=allowed[name].relative)
        for name in pairs
    }
    return judge_outputs(ours, theirs, tolerances, cell.precision)


def _media(model: ModelSpec, cell: Cell) -> dict[str, int]:
    return {name: size for name, size in sizes_of(model, cell).items() if name not in _GROWING}


def _values(reference: Arrays, job: Job, cell: Cell) -> float:
    """About as many values as the outputs have at the cell's shape."""
    longer = (cell.sequence_length or 1) / (fixed_cell(job).sequence_length or 1)
    growth = max(1.0, longer) * cell.batch_size / BATCH_SIZE
    return growth * sum(array.size for array in reference.values())


def _begun(query: AnyArray, fixed: AnyArray) -> AnyArray:
    """The tensor with a fixed sample at the beginning of each of its own."""
    samples = _repeated(fixed, 0, query.shape[0])
    corner = tuple(slice(min(sizes)) for sizes in zip(query.shape, samples.shape, strict=True))
    begun = query.copy()
    begun[corner] = samples[corner]
    return begun


def _matched(ours: AnyArray, theirs: AnyArray, batch: int) -> tuple[AnyArray, AnyArray] | None:
    """The part of an output that the fixed samples decide, and what it must be; None if unknown."""
    if ours.ndim != theirs.ndim:
        return ours, theirs  # which is wrong
    for axis, (size, fixed) in enumerate(zip(ours.shape, theirs.shape, strict=True)):
        if axis == 0 and fixed == BATCH_SIZE:
            theirs = _repeated(theirs, axis, batch)
        elif size == fixed:
            continue
        elif size * BATCH_SIZE == fixed * batch and (axis == 0 or fixed == BATCH_SIZE):
            theirs = _repeated(theirs, axis, size)
        elif axis == 0:
            return None
        else:
            kept = np.arange(min(size, fixed))
            ours, theirs = ours.take(kept, axis), theirs.take(kept, axis)
    return ours, theirs


def _repeated(fixed: AnyArray, axis: int, size: int) -> AnyArray:
    """The fixed samples, one after the other, until there are so many values on that axis."""
    repeated: AnyArray = fixed.take(np.arange(size) % fixed.shape[axis], axis)
    return repeated
