"""The ways of exporting a model, in the order in which they are tried."""

from dataclasses import dataclass

from runner.export.geometry import GRID
from runner.models import ModelSpec


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

    @property
    def name(self) -> str:
        """What it does, in a few words."""
        parts = (
            "dynamic shapes" if self.dynamic else "static shape",
            "image geometry as constants" if self.fixed_geometry else "",
            "eager attention" if self.eager else "",
            "TorchScript exporter" if self.script else "",
        )
        return ", ".join(filter(None, parts))


DYNAMIC_SHAPES = Remedy(dynamic=True)


def static_remedies(model: ModelSpec) -> tuple[Remedy, ...]:
    """The ways that fix every size; each keeps what the one before may have been needed for."""
    grid = any(tensor.name == GRID for tensor in model.inputs)
    return (
        Remedy(),
        *([Remedy(fixed_geometry=True)] if grid else []),
        Remedy(fixed_geometry=grid, eager=True),
        Remedy(fixed_geometry=grid, eager=True, script=True),
    )
