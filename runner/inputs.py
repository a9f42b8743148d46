"""Synthesises a query's tensors from the model's input spec and a seed."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from runner.cell import Cell
from runner.errors import Unsupported
from runner.models import ModelSpec, TensorSpec

Inputs = Mapping[str, npt.NDArray[np.generic]]

LABELS = "labels"
"""The name under which a batch for training holds what outputs are compared with."""


def synthesise(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """The tensors of one query by argument name; the same seed gives the same tensors."""
    generator = np.random.default_rng(seed)
    return {spec.name: _tensor(spec, cell, generator) for spec in model.inputs}


def synthesise_labels(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """The labels of one batch, drawn apart from its inputs; the same seed gives the same ones.

    Raises:
        Unsupported: the model has no labels.
    """
    if model.labels is None:
        raise Unsupported(f"training needs labels, and {model.name} has none")
    return {LABELS: _tensor(model.labels, cell, np.random.default_rng((seed, 1)))}


def tokens_to_generate(cell: Cell) -> int:
    """The new tokens that the cell asks of each sample.

    Raises:
        Unsupported: it asks for none.
    """
    if cell.new_tokens is None:
        raise Unsupported(f"generation needs new_tokens, and {cell.id} has none")
    return cell.new_tokens


def _tensor(
    spec: TensorSpec, cell: Cell, generator: np.random.Generator
) -> npt.NDArray[np.generic]:
    shape = [_size(dimension, spec, cell) for dimension in spec.shape]
    if spec.kind == "ones":
        return np.ones(shape, dtype=np.int64)
    if spec.kind == "normal":
        return generator.standard_normal(shape, dtype=np.float32)
    if spec.high is None:
        raise Unsupported(f"input {spec.name} of model {cell.model} has no `high`")
    return generator.integers(spec.low, spec.high, size=shape, dtype=np.int64)


def _size(dimension: int | str, spec: TensorSpec, cell: Cell) -> int:
    if isinstance(dimension, int):
        return dimension
    size: int | None = getattr(cell, dimension)
    if size is None:
        raise Unsupported(f"input {spec.name} of model {cell.model} needs a {dimension}")
    return size
