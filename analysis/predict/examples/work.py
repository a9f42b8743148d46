"""The counted work of cells: by polynomials, by an imported file, or by a sibling of the model."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from analysis.predict.examples.placements import Counts, architecture_in
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, catalogue
from runner.contract.models.work import (
    FLOPS_PER_MAC,
    TRAINING_PASSES,
    WEIGHT_BYTES,
    Polynomials,
    catalogued_polynomials,
    counts_of,
    iteration_work,
)

_LAYERS = (
    *("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers"),
    *("num_decoder_layers", "vision_layers"),
)
_STAGES = ("depths", "layers")
_BYTES = {"fp32": 4, "float32": 4}
_OTHER_BYTES = 2
_IMAGE_CHANNELS, _INPUT_BYTES = 3, 4
_GIGA, _MEGA = 1e9, 1e6
_WIDTHS = ("hidden_size", "d_model", "n_embd", "embed_dim")
_BY_SQUARE = ("macs", "weights")
"""Ends of the names of what grows by the square of the width."""
_UNSCALED = ("outputs",)


def counts_of_cell(
    model: ModelSpec, cell: Cell, polynomials: Polynomials | None = None
) -> Counts | None:
    """The counted work of an iteration, by a job's polynomials or the catalogue's; None without."""
    work = iteration_work(model, cell, polynomials)
    counts = counts_of(model, cell, polynomials)
    if work is None or counts is None or not work.whole.flops:
        return None
    size = WEIGHT_BYTES[cell.precision]
    parameters = model.parameters or counts.get("parameters") or counts["weights"]
    passes = TRAINING_PASSES if cell.mode == "training" else 1
    return Counts(
        flops=work.whole.flops,
        traffic_bytes=work.whole.traffic_bytes,
        activation_bytes=counts["activations"] * size * passes,
        weight_bytes=parameters * size,
        parameters=parameters,
        depth=depth_of(model.config),
    )


def depth_of(config: Mapping[str, Any]) -> float | None:
    return sum(_layers(config)) or None


def _layers(config: Mapping[str, Any]) -> Iterator[float]:
    """One part names its layers once, though under several names for compatibility."""
    named = [config[name] for name in _LAYERS if isinstance(config.get(name), int)]
    if {"encoder_layers", "decoder_layers"} <= config.keys():
        yield config["encoder_layers"] + config["decoder_layers"]
    elif named:
        yield max(named)
    for name in _STAGES:
        stages = config.get(name)
        if isinstance(stages, list) and all(isinstance(one, int) for one in stages):
            yield sum(stages)
    for part in config.values():
        if isinstance(part, Mapping):
            yield from _layers(part)


SampleWork: TypeAlias = tuple[float, float]
"""Multiply-accumulates of one sample, and elements that products and convolutions put out."""


def told_work(row: Mapping[str, Any]) -> SampleWork | None:
    """The work of a sample as timm's files tell it, in 10⁹ and 10⁶; None where a row does not."""
    details = {name.rsplit("_", 1)[-1]: value for name, value in (row["details"] or ())}
    try:
        macs, activations = float(details["gmacs"]), float(details["macts"])
    except (KeyError, TypeError, ValueError):
        return None
    return (macs * _GIGA, activations * _MEGA) if macs and activations else None


def counts_of_sample(row: Mapping[str, Any], sample: SampleWork) -> Counts | None:
    """The work of a foreign result; None where it lacks its batch or the number of parameters."""
    batch, parameters = row["batch_size"], row["parameters"]
    if not (batch and parameters):
        return None
    macs, activations = sample
    size = _BYTES.get(row["precision"], _OTHER_BYTES)
    passes = TRAINING_PASSES if row["mode"] == "training" else 1
    pixels = _IMAGE_CHANNELS * (row["image_size"] or 0) ** 2
    return Counts(
        flops=FLOPS_PER_MAC * macs * batch * passes,
        traffic_bytes=parameters * size * passes + batch * pixels * _INPUT_BYTES,
        activation_bytes=activations * size * batch * passes,
        weight_bytes=parameters * size,
        parameters=parameters,
    )


def cell_of(row: Mapping[str, Any]) -> Cell | None:
    names = [name for name in Cell.model_fields if name in row]
    try:
        return Cell.model_validate({name: row[name] for name in names})
    except ValueError:
        return None


@dataclass(frozen=True)
class SiblingWork:
    """Work that is taken from another model."""

    sibling: str
    polynomials: Polynomials


def sibling_work(model: ModelSpec) -> SiblingWork | None:
    """The work of the counted model that is most like it; None where no one is of its kind.

    Products of matrices grow by layers times the square of their width, what they put out by layers
    times the width: a guess where layers have other shapes, so that predictions of it are marked.
    """
    size, kind = _size(model.config), _kind(model)
    known = [
        (name, polynomials, other)
        for name, one in catalogue().items()
        if _kind(one) == kind
        and (polynomials := catalogued_polynomials(one))
        and (other := _size(one.config))
    ]
    if size is None or not known:
        return None
    layers, width = size

    def ratio(other: tuple[float, float]) -> float:
        return layers * width**2 / (other[0] * other[1] ** 2)

    sibling, polynomials, other = min(known, key=lambda one: abs(math.log(ratio(one[2]))))
    scaled = {}
    for name, polynomial in polynomials.items():
        factor = 1.0 if name in _UNSCALED else ratio(other)
        if not name.endswith((*_UNSCALED, *_BY_SQUARE)):
            factor *= other[1] / width
        scaled[name] = {term: value * factor for term, value in polynomial.items()}
    return SiblingWork(sibling, scaled)


def _size(config: Mapping[str, Any]) -> tuple[float, float] | None:
    layers = depth_of(config)
    width = next((config[name] for name in _WIDTHS if isinstance(config.get(name), int)), None)
    return (layers, width) if layers and width else None


def _kind(model: ModelSpec) -> tuple[object, ...]:
    sizes = frozenset(name for tensor in model.inputs for name in tensor.sizes)
    return (
        *(architecture_in(model.config), model.architecture, sizes),
        *(model.encoder_decoder, model.image_prompt, model.contrastive),
    )
