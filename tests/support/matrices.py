"""Matrices for tests, written as a user's file would say them."""

from typing import Any

from orchestrator.matrix import Matrix, Source, resolve
from runner.contract.models import AxisRange, ModelSpec, find


def matrix_of(axes: dict[str, Any] | None = None, **rest: Any) -> Matrix:
    """The matrix of a file with these axes and other keys."""
    return resolve(Source("matrix.yaml", {"version": 1, "axes": axes or {}, **rest}))


def matrix_with(model: ModelSpec, axes: dict[str, Any] | None = None, **rest: Any) -> Matrix:
    """The same of a model that the catalogue doesn't know."""
    matrix = matrix_of({"model": "gpt2", **(axes or {})}, **rest)
    named = {"axes": matrix.axes | {"model": (model.name,)}, "models": {model.name: model}}
    return matrix.model_copy(update=named)


def sized_model(**changes: Any) -> ModelSpec:
    """A model that takes text, images of several sizes and sounds of any length."""
    sizes = {
        "name": "sized",
        "modality": "multimodal",
        "image_size": AxisRange(default=224, least=56, most=1120, multiple_of=28),
        "audio_seconds": AxisRange(default=5, most=30),
    }
    return find("gpt2").model_copy(update=sizes | changes)
