"""The ways of exporting a model, in the order in which they are tried."""

from dataclasses import dataclass

from runner.contract.models import ModelSpec
from runner.export.model_patches import GRID


@dataclass(frozen=True)
class Remedy:
    """One way of exporting."""

    dynamic: bool = False
    """Every axis may vary; else every size is fixed."""
    fixed_geometry: bool = False
    """Where images lie and how large they are is constant, see `runner.export.geometry`."""
    eager: bool = False
    """Attention is written out in matrix products instead of one operator."""
    script: bool = False
    """Torch's older exporter records one execution instead of tracing the program."""
    parts: bool = False
    """The model is taken apart, see `runner.export.parts`."""

    @property
    def name(self) -> str:
        """What it does, in a few words."""
        words = (
            "dynamic shapes" if self.dynamic else "static shape",
            "image geometry as constants" if self.fixed_geometry else "",
            "eager attention" if self.eager else "",
            "TorchScript exporter" if self.script else "",
            "parts: vision tower, language model" if self.parts else "",
        )
        return ", ".join(filter(None, words))


def whole(model: ModelSpec) -> tuple[Remedy, ...]:
    """The ways that leave the model whole: one for every size, then those that fix them.

    Of these each keeps what the one before may have been needed for.
    """
    grid = _has_grid(model)
    return (
        Remedy(dynamic=True),
        Remedy(),
        *([Remedy(fixed_geometry=True)] if grid else []),
        Remedy(fixed_geometry=grid, eager=True),
        Remedy(fixed_geometry=grid, eager=True, script=True),
    )


def whole_or_in_parts(model: ModelSpec) -> tuple[Remedy, ...]:
    """The same, and at last in parts, where a prompt holds an image that a vision tower sees."""
    if model.image_prompt is None:
        return whole(model)
    return (*whole(model), Remedy(fixed_geometry=_has_grid(model), eager=True, parts=True))


def _has_grid(model: ModelSpec) -> bool:
    return any(tensor.name == GRID for tensor in model.inputs)
