"""Arithmetic and least memory traffic of one iteration, by the cell's mode.

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

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.models.sizes import shape_of, sizes_of
from runner.contract.models.spec import ModelSpec, TensorKind
from runner.contract.models.work import Polynomials, counts_of

FLOPS_PER_MAC = 2
TRAINING_PASSES = 3
"""Forward passes whose arithmetic a training step has."""
WEIGHT_BYTES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
"""Bytes of a parameter in that precision."""
_STATE_BYTES = 4
"""Bytes of a gradient, a trained weight and its moments: fp32, unless training is `pure`."""
_STATE_MOVES = 2 + 6
"""A gradient is written and read; weight and two moments are read and written."""
_UNQUANTISED_BYTES = 4
"""Bytes of a value between the quantised layers of an int8 model."""
_ID_BYTES = 8
_INPUT_BYTES: Mapping[TensorKind, int] = {"image_mask": 4, "false": 1}
_FLOATING: frozenset[TensorKind] = frozenset({"normal", "boxes"})


@dataclass(frozen=True)
class PassWork:
    """Arithmetic and least memory traffic of something that is executed."""

    flops: int
    """Floating-point operations, or those on whole numbers in their place."""
    traffic_bytes: int
    """Bytes that must be read or written."""


@dataclass(frozen=True)
class IterationWork:
    """The work of one iteration."""

    whole: PassWork
    """All of it."""
    prefill: PassWork | None = None
    """The part up to the first token; None unless the mode is `generation`."""


def iteration_work(
    model: ModelSpec, cell: Cell, polynomials: Polynomials | None = None
) -> IterationWork | None:
    """The work of one iteration of the cell; None for models that nobody counted, and for starts.

    Args:
        model: the model.
        cell: the cell.
        polynomials: those that a job counted; None for those of the catalogue's model of that name.

    Raises:
        Unsupported: the cell has a size that the model doesn't take.
    """
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
