"""The work of a model that cannot be counted, taken for that of a counted one of its architecture.

Products of matrices grow by layers times the square of their width, what they put out by layers
times the width. That is right for layers of one shape and a guess for others, so predictions that
rest on it are marked as extrapolations.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.predict.examples.names import architecture_in
from analysis.predict.examples.work import depth_of
from runner.contract.models import ModelSpec, catalogue
from runner.contract.models.work import Polynomials, catalogued_polynomials

_WIDTHS = ("hidden_size", "d_model", "n_embd", "embed_dim")
_BY_SQUARE = ("macs", "weights")
"""Ends of the names of what grows by the square of the width."""
_UNSCALED = ("outputs",)


@dataclass(frozen=True)
class SiblingWork:
    """Work that is taken from another model."""

    sibling: str
    """The name of the model that was counted."""
    polynomials: Polynomials


def sibling_work(model: ModelSpec) -> SiblingWork | None:
    """The work of the counted model that is most like it; None where no one is of its kind."""
    size = _size(model.config)
    known = [*_counted_siblings(model)] if size else []
    if size is None or not known:
        return None
    sibling, polynomials, other = min(known, key=lambda one: abs(math.log(size.ratio(one[2]))))
    scaled = {name: size.scaled(name, value, other) for name, value in polynomials.items()}
    return SiblingWork(sibling, scaled)


@dataclass(frozen=True)
class _Size:
    layers: float
    width: float

    def ratio(self, other: "_Size") -> float:
        return self.layers * self.width**2 / (other.layers * other.width**2)

    def scaled(
        self, name: str, polynomial: Mapping[str, float], other: "_Size"
    ) -> dict[str, float]:
        """A polynomial of the other, for this size."""
        factor = 1.0
        if name not in _UNSCALED:
            factor = self.ratio(other)
            factor *= 1.0 if name.endswith(_BY_SQUARE) else other.width / self.width
        return {term: value * factor for term, value in polynomial.items()}


def _size(config: Mapping[str, Any]) -> _Size | None:
    """The layers and their width; None where the configuration does not name both."""
    layers = depth_of(config)
    width = next((config[name] for name in _WIDTHS if isinstance(config.get(name), int)), None)
    return _Size(layers, width) if layers and width else None


def _counted_siblings(model: ModelSpec) -> Iterator[tuple[str, Polynomials, _Size]]:
    """Models of the catalogue with the same architecture, inputs and forward pass."""
    for name, known in catalogue().items():
        polynomials, size = catalogued_polynomials(known), _size(known.config)
        if polynomials and size and _kind(known) == _kind(model):
            yield name, polynomials, size


def _kind(model: ModelSpec) -> tuple[object, ...]:
    sizes = frozenset(name for tensor in model.inputs for name in tensor.sizes)
    return (
        *(architecture_in(model.config), model.architecture, sizes),
        *(model.encoder_decoder, model.image_prompt, model.contrastive),
    )
