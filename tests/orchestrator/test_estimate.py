"""Estimates are rough, but they grow with the work and keep to the profile."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estimate import cell_estimate, launch_estimate
from runner.cell import PROFILES, Cell
from runner.models import ModelSpec, find


def seconds(
    model: ModelSpec, profile: str = "quick", batch_size: int = 1, length: int = 128
) -> float:
    cell = Cell(
        model=model.name,
        backend="cpu",
        runtime="torch",
        precision="fp32",
        batch_size=batch_size,
        sequence_length=length if model.takes_sequence else None,
        mode="inference",
    )
    measure = next(measure for name, measure in PROFILES.items() if name == profile)
    return cell_estimate(cell, model, measure)


def test_a_small_cell_takes_about_its_profiles_shortest_time() -> None:
    for profile, measure in PROFILES.items():
        tiny = seconds(find("bert-tiny"), profile)
        assert measure.min_s < tiny < measure.min_s * 1.2 + 1


def test_more_work_takes_longer() -> None:
    batches = [seconds(find("gpt2"), "quick", size) for size in (1, 64, 1024)]
    assert all(less < more for less, more in pairwise(batches))
    assert seconds(find("gpt2"), "quick", 64, 1024) > seconds(find("gpt2"), "quick", 64, 128)
    assert seconds(find("bert-base-uncased"), "quick", 64) > seconds(find("bert-tiny"), "quick", 64)
    assert launch_estimate(find("gpt2")) > launch_estimate(find("bert-tiny")) > 0


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "vit-base"])
def test_parameters_that_nobody_published_are_guessed_from_the_config(name: str) -> None:
    spec = find(name)
    guessed = spec.model_copy(update={"parameters": None})
    assert launch_estimate(guessed) == pytest.approx(launch_estimate(spec), rel=0.1)


@given(
    st.dictionaries(
        st.sampled_from(["hidden_size", "n_layer", "vocab_size", "image_size", "patch_size"]),
        st.none() | st.booleans() | st.integers(-1, 10**6) | st.text(max_size=2),
    )
)
def test_any_config_has_an_estimate(config: dict[str, object]) -> None:
    custom = find("vit-base").model_copy(update={"parameters": None, "config": config})
    assert 0 < seconds(custom) < float("inf")
