"""Synthetic inputs and labels of a model, drawn with numpy from its spec, sizes and a seed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, TensorSpec, sizes_of
from runner.contract.models.catalogue import TensorKind
from runner.contract.models.sizes import image_frame, image_token, number_of, shape_of
from runner.contract.reasons import reason

Inputs = Mapping[str, npt.NDArray[np.generic]]
_Array = npt.NDArray[np.generic]

LABELS = "labels"
"""The name under which a batch for training holds what outputs are compared with."""
MASK = "attention_mask"
_PADDED_SHARES = (1 / 4, 3 / 4)
"""The shares of positions that are padding in a padded query's samples, in turn."""
_TEXT_BEFORE_IMAGE = 4
"""Tokens that a prompt begins with before its image, fewer if it has no more."""


def synthesise(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """Draw the tensors of one query, by argument name; the same seed gives the same tensors."""
    return _tensors(model, cell, model.inputs, np.random.default_rng(seed))


def synthesise_labels(model: ModelSpec, cell: Cell, seed: int) -> Inputs:
    """Draw the labels of one batch by the seed; none if the loss compares samples themselves."""
    if model.contrastive:
        if cell.batch_size < 2:
            raise Unsupported(reason("contrastive_batch", model=model.name))
        return {}
    if model.labels is None:
        raise Unsupported(reason("no_labels", model=model.name))
    tensors = _tensors(model, cell, (model.labels,), np.random.default_rng((seed, 1)))
    return {LABELS: tensors[model.labels.name]}


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


def tokens_to_generate(cell: Cell) -> int:
    """The number of new tokens that the cell generates for each sample."""
    if cell.new_tokens is None:
        raise Unsupported(reason("no_new_tokens", cell=cell.id))
    return cell.new_tokens


@dataclass(frozen=True)
class _Draw:
    """A model at given sizes, and the stream of random numbers that its tensors are drawn from."""

    model: ModelSpec
    sizes: Mapping[str, int]
    generator: np.random.Generator

    def shape(self, spec: TensorSpec) -> tuple[int, ...]:
        return shape_of(self.model, spec, self.sizes)

    def integers(self, spec: TensorSpec) -> npt.NDArray[np.int64]:
        """Random int64 from [low, high)."""
        if spec.high is None:
            raise Unsupported(reason("input_lacks_high", input=spec.name, model=self.model.name))
        return self.generator.integers(spec.low, spec.high, size=self.shape(spec), dtype=np.int64)

    def image_span(self) -> slice:
        """Positions of the image's tokens in a prompt."""
        before, _ = image_frame(self.model.config)
        start = min(_TEXT_BEFORE_IMAGE, self.sizes["sequence_length"]) + len(before)
        return slice(start, start + self.sizes["image_tokens"])


def _token_ids(draw: _Draw, spec: TensorSpec) -> _Array:
    ids = draw.integers(spec)
    if spec.last is not None:
        ids[..., -1] = spec.last
    return ids


def _prompt_ids(draw: _Draw, spec: TensorSpec) -> _Array:
    ids, image = draw.integers(spec), draw.image_span()
    before, after = image_frame(draw.model.config)
    ids[:, image] = image_token(draw.model.config)
    ids[:, image.start - len(before) : image.start] = before
    ids[:, image.stop : image.stop + len(after)] = after
    return ids


def _prompt_labels(draw: _Draw, spec: TensorSpec) -> _Array:
    labels = draw.integers(spec)
    labels[:, draw.image_span()] = -100  # which losses leave out
    return labels


def _image_mask(draw: _Draw, spec: TensorSpec) -> _Array:
    mask = np.zeros(draw.shape(spec), dtype=np.int32)
    mask[:, draw.image_span()] = 1
    return mask


def _rows(draw: _Draw, spec: TensorSpec) -> _Array:
    row = [number_of(draw.model, spec, value, draw.sizes) for value in spec.values]
    return np.full(draw.shape(spec), row, dtype=np.int64)


def _normal(draw: _Draw, spec: TensorSpec) -> _Array:
    """Normal noise, in quarters that are bright or dark: networks would average noise alone."""
    shape = draw.shape(spec)
    noise = draw.generator.standard_normal(shape, dtype=np.float32)
    if len(shape) < 3:  # a spectrum with its batch has so many dimensions, an image more
        return noise
    levels = draw.generator.choice(np.array([-1, 1], np.float32), (*shape[:-2], 2, 2))
    lower, right = (np.arange(size) * 2 // size for size in shape[-2:])
    noise += levels[..., lower[:, None], right]
    return noise * np.float32(0.5**0.5)


def _boxes(draw: _Draw, spec: TensorSpec) -> _Array:
    """Centres and sides from a middle range, so that no box leaves the image."""
    rows = np.empty([*draw.shape(spec), 5], dtype=np.float32)
    rows[..., 0] = draw.integers(spec)
    rows[..., 1:] = draw.generator.uniform(0.25, 0.5, size=rows[..., 1:].shape)
    return rows


_DRAWN: Mapping[TensorKind, Callable[[_Draw, TensorSpec], _Array]] = {
    "token_ids": _token_ids,
    "prompt_ids": _prompt_ids,
    "prompt_labels": _prompt_labels,
    "image_mask": _image_mask,
    "rows": _rows,
    "boxes": _boxes,
    "ones": lambda draw, spec: np.ones(draw.shape(spec), dtype=np.int64),
    "false": lambda draw, spec: np.zeros(draw.shape(spec), dtype=np.bool_),
    "normal": _normal,
}


def _tensors(
    model: ModelSpec, cell: Cell, specs: tuple[TensorSpec, ...], generator: np.random.Generator
) -> dict[str, _Array]:
    draw = _Draw(model, sizes_of(model, cell), generator)
    return {spec.name: _DRAWN[spec.kind](draw, spec) for spec in specs}
