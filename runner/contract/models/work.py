"""Arithmetic and memory of one query, from counts made once for each model.

`work.json` holds, for each model, polynomials in its sizes: a product of names and its factor.
`python -m tools.count_work` writes it.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import prod
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from runner.contract.models.catalogue import catalogue
from runner.contract.models.sizes import Sizes, sizes_of
from runner.contract.models.spec import ModelSpec

Polynomial = Mapping[str, float]
"""Factors by term; a term is a product such as `batch_size*sequence_length*sequence_length`.

The empty term is 1: its factor depends on no size."""
Polynomials = Mapping[str, Polynomial]
"""One for each thing that is counted, see `counts_of`."""
FACTOR_SIGN = "*"
_MOST = 10**17
"""Greatest count; what follows from one still fits into the columns of a record."""
_DECIDING = (
    *("architecture", "config", "forward", "inputs", "fixed"),
    *("contrastive", "encoder_decoder", "image_prompt"),
)
"""Fields that decide what is counted at given sizes."""


class Work(BaseModel):
    """Arithmetic and memory of one forward pass over one query."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    macs: NonNegativeInt
    """Multiply-accumulates in matrix products and convolutions."""
    activation_bytes: NonNegativeInt
    """Bytes that matrix products and convolutions put out, attention scores among them."""
    parameter_bytes: NonNegativeInt
    """Bytes of the parameters."""


def work(model: ModelSpec, cell: Sizes, number_bytes: int = 4) -> Work | None:
    """The work of one query in numbers of so many bytes; None for models that nobody counted."""
    counts = counts_of(model, cell)
    if counts is None or model.parameters is None:
        return None
    return Work(
        macs=counts["macs"],
        activation_bytes=counts["activations"] * number_bytes,
        parameter_bytes=model.parameters * number_bytes,
    )


def counts_of(
    model: ModelSpec, cell: Sizes, polynomials: Polynomials | None = None
) -> Mapping[str, int] | None:
    """Everything that was counted of a query; None for models that nobody counted.

    `macs`, `activations`, `outputs` and `weights` are those of a forward pass: its arithmetic, the
    elements that matrix products put out and that the model gives, the parameters read as a whole,
    so none of a table of embeddings. Where the model generates, `prefill_macs`, `prefill_weights`
    and `cache` are those of filling the cache, `step_macs` and `step_weights` those of the first
    token after it; each further one takes `step_growth` and `cache_growth` more. A job that counts
    also gives `parameters`.

    Args:
        model: the model.
        cell: the sizes of a query.
        polynomials: those that a job counted; None for those of the catalogue's model of that name.
            Where they give less than 0, or more than any model has, the answer is None.

    Raises:
        Unsupported: the cell has a size that the model doesn't take.
    """
    known = _catalogued().get(model.name) if polynomials is None else polynomials
    if known is None:
        return None
    sizes = sizes_of(model, cell)
    counts = {name: _value(polynomial, sizes) for name, polynomial in known.items()}
    return counts if all(0 <= count <= _MOST for count in counts.values()) else None


def catalogued_polynomials(model: ModelSpec) -> Polynomials | None:
    """Those of the catalogue's model, if this is the same architecture with the same inputs."""
    known = catalogue().get(model.name)
    if known is None or any(getattr(known, name) != getattr(model, name) for name in _DECIDING):
        return None
    return _catalogued().get(model.name)


@cache
def _catalogued() -> Mapping[str, Polynomials]:
    text = (files("runner.contract.models") / "work.json").read_text("utf-8")
    return MappingProxyType(json.loads(text))


def _value(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    return round(
        sum(
            factor * prod(sizes[name] for name in term.split(FACTOR_SIGN) if name)
            for term, factor in polynomial.items()
        )
    )
