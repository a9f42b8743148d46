"""What launches of the same cells on this host teach about its processes."""

import socket
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from orchestrator.running.calibration import Spreads, save_spreads
from orchestrator.running.create import known_spreads
from orchestrator.running.run_file import RUN_FILE
from runner.contract.confidence import upper_deviation
from runner.contract.job import ProcessSpread
from runner.contract.record.record import Record
from runner.measure.statistics.replication import spread_of
from tests.support.databases import write_records
from tests.support.jobs import a_spread
from tests.support.records import EXAMPLE_HOST, a_record

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
SEVERAL = {
    "rounds": 3,
    "latency_between_process_cv": 0.02,
    "effective_rounds": 3.0,
    "round_degrees": 2.0,
}
"""Three launches that are far apart in time, so that nothing is to be added for nearness."""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "here")


def a_result(number: int, **changes: Any) -> Record:
    """A quiet result of ours, of a run of its own, an hour after the one before."""
    moment = NOON + timedelta(hours=number)
    own = {"run_id": f"run-{number}", "hostname": "here", "recorded_at": moment, "grade": "C"}
    return a_record(**own | {"rounds": 1} | changes)


def learnt(folder: Path, records: Iterable[Record], ours: Iterable[str] = ()) -> Spreads:
    """What a database of these records teaches where the folders of our runs are."""
    kept = list(records)
    database = write_records(folder, kept)
    for run_id in ours or {record.run_id for record in kept}:
        (folder / run_id).mkdir(exist_ok=True)
        (folder / run_id / RUN_FILE).touch()
    return known_spreads(folder, database, EXAMPLE_HOST)


def test_launches_of_one_result_teach(tmp_path: Path) -> None:
    ((key, spread),) = learnt(tmp_path, [a_result(1, **SEVERAL)]).items()
    assert key.startswith("cpu/torch/")
    assert (spread.processes, spread.pairs, spread.degrees) == (3, 2, 2)
    assert spread.cv == pytest.approx(0.02 * upper_deviation(2))
    assert spread.measured_at == NOON + timedelta(hours=1)


def test_results_of_one_launch_teach_if_they_are_far_apart(tmp_path: Path) -> None:
    times = {1: 0.0100, 2: 0.0102, 3: 0.0104}
    results = [a_result(number, latency_median_s=time) for number, time in times.items()]
    soon = NOON + timedelta(hours=3, seconds=30)
    results.append(a_result(4, latency_median_s=0.02, recorded_at=soon))
    (spread,) = learnt(tmp_path, results).values()
    assert (spread.processes, spread.pairs) == (3, 2)
    assert spread.cv == pytest.approx(0.0002 / 0.0102 * upper_deviation(2))


def test_cells_are_pooled_by_their_degrees_of_freedom(tmp_path: Path) -> None:
    results = [
        a_result(1, **SEVERAL),
        a_result(2, **SEVERAL | {"latency_between_process_cv": 0.01}, batch_size=8),
    ]
    (spread,) = learnt(tmp_path, results).values()
    assert (spread.processes, spread.pairs, spread.degrees) == (6, 4, 4)
    assert spread.cv == pytest.approx(sqrt(0.00025) * upper_deviation(4))


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    "changes",
    [
        {"hostname": "elsewhere"},
        {"noise_other_load": 0.3},
        {"noise_steal": 0.2},
        {"grade": "D"},
        {"correct": False, "correct_reason": "off"},
        {"scenario": "server", "target_qps": 5.0},
        {"mode": "startup"},
        {"cpu_model": "Other CPU"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_does_not_teach(changes: Mapping[str, Any], tmp_path: Path) -> None:
    assert learnt(tmp_path, [a_result(1, **SEVERAL | changes)]) == {}


def test_neither_others_nor_other_software_teach(tmp_path: Path) -> None:
    others = [a_result(2, latency_median_s=0.02), a_result(3, **SEVERAL)]
    software = [a_result(4, libraries={"torch": "1.0"}), a_result(5, git_commit="f00")]
    ours = ["run-1", "run-4", "run-5"]
    assert learnt(tmp_path, [a_result(1), *others, *software], ours) == {}
    assert known_spreads(tmp_path, next(tmp_path.glob("*.duckdb")), None) == {}


def test_a_calibration_goes_before_history(tmp_path: Path) -> None:
    ((key, learned),) = learnt(tmp_path, [a_result(1, **SEVERAL)]).items()
    database = next(tmp_path.glob("*.duckdb"))
    assert known_spreads(tmp_path, database, EXAMPLE_HOST) == {key: learned}
    save_spreads(tmp_path, EXAMPLE_HOST, {key: a_spread()})
    assert known_spreads(tmp_path, database, EXAMPLE_HOST) == {key: a_spread()}


@pytest.mark.parametrize(("degrees", "bound"), [(3, 2.266), (10, 1.434), (30, 1.207)])
def test_the_upper_bound_is_chi_squareds(degrees: int, bound: float) -> None:
    assert upper_deviation(degrees) == pytest.approx(bound, rel=0.01)


@pytest.mark.parametrize(
    ("pairs", "shows_five_percent"), [(1, False), (4, False), (8, True), (40, True)]
)
def test_few_pairs_promise_little(pairs: int, shows_five_percent: bool) -> None:
    """Processes that differ by 0.9 % show 5 %, once enough pairs say so."""
    learned = ProcessSpread(
        cv=0.009 * upper_deviation(pairs),
        processes=pairs + 1,
        degrees=pairs,
        measured_at=NOON,
        pairs=pairs,
    )
    spread = spread_of(learned)
    assert (spread.shown <= 0.05) is shows_five_percent
    assert spread.source.startswith(f"history of this host, the upper bound by {pairs} pairs of")
