"""Estimates are rough, but they grow with the work and keep to the profile."""

from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.planning.estimate import (
    _COLD_SHARE,
    _FEWEST_COLD,
    _LONGEST_RUN,
    iteration_estimate,
    launch_estimate,
    timed_estimate,
)
from runner.contract.axes import Backend, Mode
from runner.contract.cell import Cell, ProfileName
from runner.contract.job import PROFILES, Limits
from runner.contract.models import ModelSpec, find
from runner.measure.statistics.percentiles import fewest
from runner.modes.server import serving
from runner.modes.startup import mode as startup


def seconds(
    model: ModelSpec,
    profile: str = "quick",
    rounds: int = 1,
    heat_s: float | None = None,
    **fields: Any,
) -> float:
    values: dict[str, Any] = {
        "model": model.name,
        "backend": "cpu",
        "runtime": "torch",
        "precision": "fp32",
        "batch_size": 1,
        "sequence_length": 128 if model.takes_sequence else None,
        "mode": "inference",
    }
    measure = next(measure for name, measure in PROFILES.items() if name == profile)
    changed = measure.model_copy(update={"rounds": rounds, "heat_s": heat_s})
    cell = Cell(**values | fields)
    return timed_estimate(cell, iteration_estimate(cell, model), changed)


def test_a_small_cell_takes_about_its_profiles_shortest_time() -> None:
    for profile, measure in PROFILES.items():
        tiny = seconds(find("bert-tiny"), profile)
        assert measure.min_s < tiny < measure.min_s * 1.2 + 1


def test_each_round_is_heated() -> None:
    tiny, measure = find("bert-tiny"), PROFILES["standard"]
    usual, heated = (seconds(tiny, rounds=3, heat_s=heat_s) for heat_s in (None, 60))
    assert heated - usual == pytest.approx(3 * 60)
    usual, heated = (
        Limits().timeout_s(measure.model_copy(update={"heat_s": heat_s})) for heat_s in (None, 60)
    )
    assert heated - usual == 60


def test_more_work_takes_longer() -> None:
    gpt2 = find("gpt2")
    batches = [seconds(gpt2, batch_size=size) for size in (1, 64, 1024)]
    assert all(less < more for less, more in pairwise(batches))
    assert seconds(gpt2, batch_size=64, sequence_length=1024) > batches[1]
    tiny, base = (seconds(find(f"bert-{name}"), batch_size=64) for name in ("tiny", "base-uncased"))
    assert base > tiny
    assert seconds(gpt2, batch_size=64, mode="training") > 2.5 * batches[1]
    assert launch_estimate(find("gpt2")) > launch_estimate(find("bert-tiny")) > 0


@pytest.mark.parametrize(
    ("start_s", "profile", "workers", "expected_s"),
    [
        (1.0, "quick", None, 1 + 6 + 5 + 1),
        (2.0, "standard", None, 3 * 2 + 21 * 2 + 20 * 2 + 2),
        (50.0, "standard", None, 3 * 50 + 3 * 50 + 300 + 50),
    ],
    ids=["an interval takes six", "rounds share", "one a round"],
)
def test_starts_are_untimed_cold_warm_and_at_once(
    start_s: float, profile: ProfileName, workers: int | None, expected_s: float
) -> None:
    model = find("bert-tiny")
    cell = Cell(
        model=model.name,
        backend="cpu",
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=128,
        mode="startup",
        workers=workers,
    )
    assert iteration_estimate(cell, model, predicted_s=start_s) == start_s
    estimate = timed_estimate(cell, start_s, PROFILES[profile])
    assert estimate == pytest.approx(expected_s)
    assert fewest() == _FEWEST_COLD
    assert startup.COLD_SHARE == _COLD_SHARE


def test_rare_queries_and_searches_end_with_the_longest_time() -> None:
    gpt2, longest = find("gpt2"), PROFILES["quick"].max_s
    rare = seconds(gpt2, scenario="server", target_qps=0.01)
    sought = seconds(gpt2, scenario="server", slo_ms=100)
    often = seconds(find("bert-tiny"), scenario="server", target_qps=50)
    assert longest < sought == rare < longest + 5
    assert PROFILES["quick"].min_s < often < PROFILES["quick"].min_s + 1


def test_a_server_that_is_too_slow_answers_its_line_at_the_end() -> None:
    gpt2, longest = find("gpt2"), PROFILES["quick"].max_s
    over = seconds(gpt2, scenario="server", target_qps=10_000)
    assert _LONGEST_RUN == serving.LONGEST_RUN
    assert _LONGEST_RUN * longest < over < _LONGEST_RUN * longest + 5


@pytest.mark.parametrize("profile", PROFILES)
def test_the_longest_run_of_a_server_ends_before_the_cells_timeout(profile: ProfileName) -> None:
    measure = PROFILES[profile]
    run_s = measure.warmup_max_s + serving.LONGEST_RUN * measure.max_s
    assert Limits().timeout_s(measure) >= run_s + 300


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("backend", get_args(Backend))
def test_every_backend_and_mode_has_an_estimate(backend: str, mode: str) -> None:
    assert 0 < seconds(find("bert-tiny"), backend=backend, mode=mode) < float("inf")


@given(
    st.dictionaries(
        st.sampled_from(["hidden_size", "n_layer", "vocab_size", "image_size", "patch_size"]),
        st.none() | st.booleans() | st.integers(-1, 10**6) | st.text(max_size=2),
    )
)
def test_any_config_has_an_estimate(config: dict[str, object]) -> None:
    custom = find("vit-base").model_copy(update={"parameters": None, "config": config})
    assert 0 < seconds(custom) < float("inf")
