"""Arithmetic and least memory traffic of queries and iterations, from counts made once per model.

`work.json` holds, for each model, polynomials in its sizes: a product of names and its factor.
`python -m tools.count_work` writes it.

FLOPs are two for each multiply-accumulate of matrix products and convolutions; what works element
by element is left out, as in the model FLOPs of Chowdhery and others (2022, "PaLM", appendix B).
Bytes are those that must move even with an ideal cache, the compulsory traffic of a roofline
(Williams, Waterman and Patterson 2009): each weight once a pass, inputs and outputs; rows of
embeddings and values between layers are left out. So both are lower bounds.

    inference    a forward pass
    training     three times its FLOPs, since the backward pass has a product for the gradient of
                 the inputs and one for that of the weights (Kaplan and others 2020, section 2.1);
                 weights are read forward and backward, gradients written and read, and AdamW reads
                 and writes weight and two moments; these in fp32, unless training is `pure`
    generation   filling the cache, then each further token: the decoder's weights once for the
                 whole batch, and each sample's cache, which a token makes longer (Pope and others
                 2022, "Efficiently Scaling Transformer Inference")
    startup      none: a start is not made of arithmetic
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.models.catalogue import ModelSpec, TensorKind, catalogue
from runner.contract.models.sizes import Sizes, shape_of, sizes_of

Polynomial = Mapping[str, float]
"""Factors by term; a term is a product such as `batch_size*sequence_length*sequence_length`.

The empty term is 1: its factor depends on no size."""
Polynomials = Mapping[str, Polynomial]  # one for each thing that is counted, see `counts_of`
FACTOR_SIGN = "*"
_MOST = 10**17  # greatest count; what follows from one still fits into the columns of a record
_DECIDING = (
    *("architecture", "config", "forward", "inputs", "fixed"),
    *("contrastive", "encoder_decoder", "image_prompt"),
)


class Work(BaseModel):
    """Arithmetic and memory of one forward pass over one query."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    macs: NonNegativeInt  # multiply-accumulates in matrix products and convolutions
    activation_bytes: NonNegativeInt  # that products and convolutions put out, attention scores too
    parameter_bytes: NonNegativeInt


def work(model: ModelSpec, cell: Sizes, number_bytes: int = 4) -> Work | None:
    """The work of one query in numbers of so many bytes; None if it was not counted."""
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
    """Everything that was counted of a query; None if the model's work was not counted.

    `macs`, `activations`, `outputs` and `weights` are those of a forward pass: its arithmetic, the
    elements that matrix products put out and that the model gives, the parameters read as a whole,
    so none of a table of embeddings. Where the model generates, `prefill_macs`, `prefill_weights`
    and `cache` are those of filling the cache, `step_macs` and `step_weights` those of the first
    token after it; each further one takes `step_growth` and `cache_growth` more. A job that counts
    also gives `parameters`, and its polynomials; without them the catalogue's model of that name
    counts. Where they give less than 0, or more than any model has, the answer is None.
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


FLOPS_PER_MAC = 2
TRAINING_PASSES = 3  # forward passes whose arithmetic a training step has
WEIGHT_BYTES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
"""Bytes of a parameter in that precision."""
_STATE_BYTES = 4
"""Bytes of a gradient, a trained weight and its moments: fp32, unless training is `pure`."""
_STATE_MOVES = 2 + 6  # a gradient is written and read; weight and two moments are read and written
_UNQUANTISED_BYTES = 4  # bytes of a value between the quantised layers of an int8 model
_ID_BYTES = 8
_INPUT_BYTES: Mapping[TensorKind, int] = {"image_mask": 4, "false": 1}
_FLOATING: frozenset[TensorKind] = frozenset({"normal", "boxes"})


@dataclass(frozen=True)
class PassWork:
    """Arithmetic and least memory traffic of something that is executed."""

    flops: int  # floating-point operations, or those on whole numbers in their place
    traffic_bytes: int  # bytes that must be read or written


@dataclass(frozen=True)
class IterationWork:
    """The work of one iteration."""

    whole: PassWork
    prefill: PassWork | None = None  # the part up to the first token; None unless it generates


def iteration_work(
    model: ModelSpec, cell: Cell, polynomials: Polynomials | None = None
) -> IterationWork | None:
    """The work of one iteration; None if the model's work was not counted, and for starts."""
    counts = None if cell.mode == "startup" else counts_of(model, cell, polynomials)
    if counts is None or (cell.mode == "generation" and "step_macs" not in counts):
        return None
    if cell.mode == "generation":
        prefill, decode = _prefill(model, cell, counts), _decode(cell, counts)
        flops = prefill.flops + decode.flops
        return IterationWork(PassWork(flops, prefill.traffic_bytes + decode.traffic_bytes), prefill)
    if cell.mode == "training":
        return IterationWork(_training(model, cell, counts))
    return IterationWork(_forward(model, cell, counts))


def _forward(model: ModelSpec, cell: Cell, counts: Mapping[str, int]) -> PassWork:
    weights = counts["weights"] * WEIGHT_BYTES[cell.precision]
    outputs = counts["outputs"] * _value_bytes(cell.precision)
    return PassWork(FLOPS_PER_MAC * counts["macs"], weights + _input_bytes(model, cell) + outputs)


def _training(model: ModelSpec, cell: Cell, counts: Mapping[str, int]) -> PassWork:
    """The gradient of a table of embeddings has all rows, so the optimizer moves them too."""
    passes = 2 * counts["weights"] * WEIGHT_BYTES[cell.precision]
    trained = model.parameters or counts.get("parameters") or counts["weights"]
    kept = WEIGHT_BYTES[cell.precision] if cell.training_precision == "pure" else _STATE_BYTES
    return PassWork(
        TRAINING_PASSES * FLOPS_PER_MAC * counts["macs"],
        passes + _STATE_MOVES * kept * trained + _input_bytes(model, cell),
    )


def _prefill(model: ModelSpec, cell: Cell, counts: Mapping[str, int]) -> PassWork:
    weights = counts["prefill_weights"] * WEIGHT_BYTES[cell.precision]
    cache = counts["cache"] * _value_bytes(cell.precision)
    return PassWork(
        FLOPS_PER_MAC * counts["prefill_macs"], weights + _input_bytes(model, cell) + cache
    )


def _decode(cell: Cell, counts: Mapping[str, int]) -> PassWork:
    """All tokens after the first: each reads the cache before it and writes its own part."""
    tokens = (cell.new_tokens or 1) - 1
    longer = tokens * (tokens - 1) // 2
    weights = tokens * counts["step_weights"] * WEIGHT_BYTES[cell.precision]
    read = tokens * counts["cache"] + longer * counts["cache_growth"]
    cache = (read + tokens * counts["cache_growth"]) * _value_bytes(cell.precision)
    macs = tokens * counts["step_macs"] + longer * counts["step_growth"]
    ids = 2 * tokens * cell.batch_size * _ID_BYTES
    return PassWork(FLOPS_PER_MAC * macs, weights + cache + ids)


def _value_bytes(precision: Precision) -> int:
    return _UNQUANTISED_BYTES if precision == "int8" else WEIGHT_BYTES[precision]


def _input_bytes(model: ModelSpec, cell: Cell) -> int:
    sizes = sizes_of(model, cell)
    of_each = {**dict.fromkeys(_FLOATING, _value_bytes(cell.precision)), **_INPUT_BYTES}
    return sum(
        prod(shape_of(model, tensor, sizes)) * of_each.get(tensor.kind, _ID_BYTES)
        for tensor in model.inputs
    )
