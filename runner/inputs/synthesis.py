"""Tensors of a query, labels of a batch, and the tokens that a cell generates."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, TensorSpec, sizes_of
from runner.contract.reasons import reason
from runner.inputs.draw import DRAWN, Draw

Inputs = Mapping[str, npt.NDArray[np.generic]]

LABELS = "labels"
"""The name under which a batch for training holds what outputs are compared with."""


def synthesise(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """Draw the tensors of one query, by argument name; the same seed gives the same tensors."""
    return _tensors(model, cell, model.inputs, np.random.default_rng(seed))


def synthesise_labels(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """Draw the labels of one batch, apart from its inputs; the same seed gives the same labels.

    Empty if the loss compares the samples with one another.
    """
    if model.contrastive:
        if cell.batch_size < 2:
            raise Unsupported(reason("contrastive_batch", model=model.name))
        return {}
    if model.labels is None:
        raise Unsupported(reason("no_labels", model=model.name))
    tensors = _tensors(model, cell, (model.labels,), np.random.default_rng((seed, 1)))
    return {LABELS: tensors[model.labels.name]}


def _tensors(
    model: ModelSpec, cell: Cell, specs: tuple[TensorSpec, ...], generator: np.random.Generator
) -> dict[str, npt.NDArray[np.generic]]:
    draw = Draw(model, sizes_of(model, cell), generator)
    return {spec.name: DRAWN[spec.kind](draw, spec) for spec in specs}


def tokens_to_generate(cell: Cell) -> int:
    """The number of new tokens that the cell generates for each sample."""
    if cell.new_tokens is None:
        raise Unsupported(reason("no_new_tokens", cell=cell.id))
    return cell.new_tokens
