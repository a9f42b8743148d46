"""Padded queries, and those by which int8 finds its ranges."""

from collections.abc import Iterable

from runner.contract.cell import Cell
from runner.contract.models import ModelSpec
from runner.inputs.synthesis import Inputs, synthesise

MASK = "attention_mask"
_PADDED_SHARES = (1 / 4, 3 / 4)
"""The shares of positions that are padding in a padded query's samples, in turn."""


def padded(inputs: Inputs) -> Inputs:
    """The inputs with the last positions of each sample masked, where there is a mask."""
    mask = inputs.get(MASK)
    if mask is None or mask.ndim != 2 or mask.shape[1] < 2:
        return inputs
    shorter = mask.copy()
    for number, share in enumerate(_PADDED_SHARES):
        kept = max(1, round(mask.shape[1] * (1 - share)))
        shorter[number :: len(_PADDED_SHARES), kept:] = 0
    return {**inputs, MASK: shorter}


def calibration_queries(model: ModelSpec, cell: Cell, seeds: Iterable[int]) -> list[Inputs]:
    """A query of each seed, every second one padded: a mask lies far outside of scores' range."""
    drawn = (synthesise(model, cell, seed) for seed in seeds)
    return [padded(inputs) if number % 2 else inputs for number, inputs in enumerate(drawn)]
