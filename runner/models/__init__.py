"""The catalogue: which models there are, as pure data."""

from runner.models.catalogue import catalogue, find, model_sets
from runner.models.spec import Family, Modality, ModelSpec, TensorSpec

__all__ = ["Family", "Modality", "ModelSpec", "TensorSpec", "catalogue", "find", "model_sets"]
