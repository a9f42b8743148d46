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

from runner.contract.models.sizes import Sizes, sizes_of
from runner.contract.models.spec import ModelSpec

Polynomial = Mapping[str, float]
"""Factors by term; a term is a product such as `batch_size*sequence_length*sequence_length`."""
FACTOR_SIGN = "*"


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
    """The work of one query in numbers of so many bytes; None for models that nobody counted.

    Raises:
        Unsupported: the cell has a size that the model doesn't take.
    """
    polynomials = _polynomials().get(model.name)
    if polynomials is None or model.parameters is None:
        return None
    sizes = sizes_of(model, cell)
    return Work(
        macs=_value(polynomials["macs"], sizes),
        activation_bytes=_value(polynomials["activations"], sizes) * number_bytes,
        parameter_bytes=model.parameters * number_bytes,
    )


@cache
def _polynomials() -> Mapping[str, Mapping[str, Polynomial]]:
    text = (files("runner.contract.models") / "work.json").read_text("utf-8")
    return MappingProxyType(json.loads(text))


def _value(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    return round(
        sum(
            factor * prod(sizes[name] for name in term.split(FACTOR_SIGN))
            for term, factor in polynomial.items()
        )
    )
