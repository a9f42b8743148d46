"""Strategies of exporting a model, in the order in which they are tried."""

from dataclasses import dataclass

from runner.contract.models import ModelSpec
from runner.export.model_patches import GRID


@dataclass(frozen=True)
class Strategy:
    """One way to export a model."""

    dynamic: bool = False
    """Every axis may vary; else every size is fixed."""
    fixed_geometry: bool = False
    """Position and size of images are constant, see `runner.export.model_patches`."""
    eager: bool = False
    """Attention is written out in matrix products instead of one operator."""
    script: bool = False
    """Torch's older exporter records one execution instead of tracing the program."""
    parts: bool = False
    """The model is split into parts, see `runner.export.forward`."""

    @property
    def name(self) -> str:
        """The strategy in a few words."""
        words = (
            "dynamic shapes" if self.dynamic else "static shape",
            "image geometry as constants" if self.fixed_geometry else "",
            "eager attention" if self.eager else "",
            "TorchScript exporter" if self.script else "",
            "parts: vision tower, language model" if self.parts else "",
        )
        return ", ".join(filter(None, words))


def whole_strategies(model: ModelSpec) -> tuple[Strategy, ...]:
    """Strategies that leave the model whole: one for every size, then those that fix the sizes.

    Each of these keeps the measures of the one before.
    """
    grid = _has_grid(model)
    return (
        Strategy(dynamic=True),
        Strategy(),
        *([Strategy(fixed_geometry=True)] if grid else []),
        Strategy(fixed_geometry=grid, eager=True),
        Strategy(fixed_geometry=grid, eager=True, script=True),
    )


def whole_or_split_strategies(model: ModelSpec) -> tuple[Strategy, ...]:
    """The same, and at last in parts, if a prompt holds an image for a vision tower."""
    if model.image_prompt is None:
        return whole_strategies(model)
    return (
        *whole_strategies(model),
        Strategy(fixed_geometry=_has_grid(model), eager=True, parts=True),
    )


def _has_grid(model: ModelSpec) -> bool:
    return any(tensor.name == GRID for tensor in model.inputs)
