"""What the measurement of browsers makes of a run's records."""

import pytest

from performance.browsers import Drive, speeds
from runner.contract.record import Record
from tests.support.records import a_record

MEDIANS_S = {
    ("cpu", 1): 0.004,
    ("cpu", 2): 0.002,
    ("wasm", 1): 0.016,
    ("wasm", 2): 0.010,
    ("webnn", None): 0.008,
}


def records(model: str, factor: float = 1.0) -> list[Record]:
    return [
        a_record(model=model, backend=backend, threads=threads, latency_median_s=median * factor)
        for (backend, threads), median in MEDIANS_S.items()
    ]


def test_each_path_is_compared_with_native_of_as_many_threads() -> None:
    measured = [*records("bert-tiny"), *records("vit-tiny", 3.0)]
    for model in ("bert-tiny", "vit-tiny"):
        assert speeds(measured, model) == {"wasm-1": 0.25, "wasm-2": 0.2, "webnn": 0.25}


@pytest.mark.parametrize(
    ("wall", "loading", "iterations", "share"), [(10, 2, 6, 0.2), (10, 4, 6, 0.0)]
)
def test_loading_a_graph_and_iterations_are_not_the_drivers(
    wall: int, loading: int, iterations: int, share: float
) -> None:
    assert Drive(wall, loading, iterations).share == pytest.approx(share)
