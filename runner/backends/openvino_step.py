"""One part of a prepared graph as OpenVINO executes it, with the memory it reads and writes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import openvino as ov


@dataclass(frozen=True)
class Place:
    """Where a value lies: an input of a query, or an output of a step."""

    shape: ov.PartialShape
    """Its sizes. Where some are open, what lies there may move with each call."""
    tensor: Callable[[], ov.Tensor]
    """What lies there now."""


class Step:
    """A compiled part and one request, which keeps the outputs until it is executed again."""

    def __init__(self, model: ov.Model, compiled: ov.CompiledModel) -> None:
        self.model = model
        """What was compiled."""
        self.compiled = compiled
        self.request = compiled.create_infer_request()
        self._inputs: Mapping[str, Place] = {}
        self._moving: Mapping[str, Place] = {}

    def read(self, inputs: Mapping[str, Place]) -> None:
        """Execute over these places from now on."""
        self._inputs = inputs
        self._moving = {name: place for name, place in inputs.items() if place.shape.is_dynamic}
        self._set({name: place for name, place in inputs.items() if name not in self._moving})

    def __call__(self) -> None:
        """Execute and wait; without `share_outputs` the Python layer would copy all outputs."""
        self._set(self._moving)
        self.request.infer(share_outputs=True)

    def outputs(self, names: Iterable[str]) -> dict[str, Place]:
        """The places of these outputs."""
        return {
            name: Place(self.compiled.output(name).partial_shape, partial(self._tensor, name))
            for name in names
        }

    @contextmanager
    def executing(self, compiled: ov.CompiledModel) -> Iterator[ov.InferRequest]:
        """Execute the same part, compiled in another way, with the request that this gives."""
        usual = self.request
        self.request = compiled.create_infer_request()
        try:
            self.read(self._inputs)
            yield self.request
        finally:
            self.request = usual

    def _set(self, places: Mapping[str, Place]) -> None:
        for name, place in places.items():
            self.request.set_tensor(name, place.tensor())

    def _tensor(self, name: str) -> ov.Tensor:
        return self.request.get_tensor(name)


def placed(array: npt.NDArray[np.generic]) -> Place:
    """The array where it lies on the host; copied only if it is not contiguous or not writeable."""
    tensor = ov.Tensor(np.require(array, requirements=["C", "W"]), shared_memory=True)
    return Place(ov.PartialShape(list(array.shape)), lambda: tensor)
