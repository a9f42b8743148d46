"""Seeded folds that hide groups of examples as a whole."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.predict.examples.placements import Example

SEED = 20
FOLDS = 5


@dataclass(frozen=True)
class SplitFold:
    """Examples that are hidden, and those that they are predicted from."""

    label: str
    known: Sequence[Example]
    hidden: Sequence[Example]
    beside: Sequence[Example] = ()
    """Hidden ones too, whose errors are printed but count for no bar."""


def folds_by(
    examples: Sequence[Example], key: Callable[[Example], Hashable]
) -> Iterator[tuple[int, list[Example], list[Example]]]:
    """The number of each fold, its known examples and its hidden ones; a group is in one fold."""
    keys = [key(example) for example in examples]
    distinct = sorted(set(keys), key=repr)
    order = np.random.default_rng(SEED).permutation(len(distinct))
    number_of = {one: int(rank) % FOLDS for one, rank in zip(distinct, order, strict=True)}
    numbers = [number_of[one] for one in keys]
    for fold in range(FOLDS):
        pairs = [*zip(examples, numbers, strict=True)]
        known = [example for example, number in pairs if number != fold]
        yield fold + 1, known, [example for example, number in pairs if number == fold]


def without(examples: Sequence[Example], hidden: Sequence[Example]) -> list[Example]:
    """The examples but for the hidden ones."""
    left_out = set(map(id, hidden))
    return [example for example in examples if id(example) not in left_out]
