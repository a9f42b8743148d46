"""Random weights keep outputs finite at real size, for the architectures of the catalogue.

Those that have no model small enough for a test are tried by their smallest one of the set `micro`
alone, in the tests of correctness.
"""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from runner.backends.torch.backend import open_session
from runner.contract.models import ModelSpec, catalogue, model_sets
from runner.correctness.reference import fixed_cell
from runner.inputs import synthesise
from tests.support.siblings import siblings
from tests.support.tiny_models import torch_job

LARGEST = 130_000_000
KEPT = ("bert", "gpt2", "vit")
"""The architectures that every gate tries."""


def smallest_of_each_architecture() -> list[Any]:
    """The models to try, without those of the set `micro`, whose sizes are not real."""
    tried = [spec for name, spec in catalogue().items() if name not in model_sets()["micro"]]
    largest_first = sorted(tried, key=lambda spec: spec.parameters or 0, reverse=True)
    small = [spec for spec in largest_first if (spec.parameters or 0) < LARGEST]
    chosen = {spec.config["model_type"]: spec for spec in small}
    kept = [chosen[kind] for kind in KEPT]
    return siblings(chosen.values(), kept, lambda spec: str(spec.name))


@pytest.mark.slow
@pytest.mark.parametrize("spec", smallest_of_each_architecture())
def test_a_model_of_real_size_gives_finite_outputs_that_tell_inputs_apart(spec: ModelSpec) -> None:
    job = torch_job(spec)
    cell = fixed_cell(job)
    with closing(open_session(job, threads=2)) as session:
        once, other = (
            session.arrays(session.bind(cell, synthesise(job.model, cell, seed))())
            for seed in (0, 1)
        )
    assert all(np.isfinite(array).all() for array in once.values())
    assert any((once[name] != other[name]).any() for name in once)
