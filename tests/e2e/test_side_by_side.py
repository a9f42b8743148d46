"""Candidates side by side by processes: rounds, pairs, what is killed or interrupted, what ends."""

import signal
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

import runner
from orchestrator.commands.fleet.host_program import serve_driver
from orchestrator.fleet.messages import (
    Ended,
    Launched,
    Order,
    Shared,
    encode,
    frame_of,
    message_to_driver,
    read_frame,
)
from orchestrator.fleet.orders import OrderArrivals
from orchestrator.planning.plan import side_by_side
from orchestrator.running.run_file import run_file_text
from tests.support.fakes import KeptObserver
from tests.support.jobs import fake_cell, fake_model
from tests.support.nothing_left import assert_nothing_left
from tests.support.runs import a_plan, a_run_folder
from tests.support.workplace import Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]

ROUNDS = 3


def of_models(user: Workplace, models: int, faults: dict[str, str] | None = None) -> Workplace:
    """A matrix of so many models, which are compared."""
    user.write_matrix(faults, models, latency_s=0.01, batch_sizes=[1, 2])
    matrix: dict[str, Any] = yaml.safe_load((user.folder / "matrix.yaml").read_text())
    del matrix["measure"]["rounds"], matrix["measure"]["max_rounds"]
    matrix["measure"] |= {"profile": "quick", "side_by_side": True}
    (user.folder / "matrix.yaml").write_text(yaml.safe_dump(matrix))
    return user


def pairs(user: Workplace) -> dict[tuple[str, str], list[int]]:
    """The rounds of each pair of results of the newest run, the first one by name first."""
    rows = user.ask(
        "SELECT r.cell_id AS cell, o.cell_id AS other, list(p.round ORDER BY p.round) AS rounds"
        " FROM paired_ratios p JOIN benchmark_results r ON r.result_id = p.result_id"
        " JOIN benchmark_results o ON o.result_id = p.other_id"
        f" WHERE r.run_id = '{user.run_folder.name}' AND r.cell_id < o.cell_id GROUP BY ALL"
    )
    return {(row["cell"], row["other"]): row["rounds"] for row in rows}


def assert_compared(user: Workplace) -> None:
    """Assert that each question has its whole rounds, of both candidates, and one verdict each."""
    user.check("ok")
    assert_nothing_left(user)
    rows = user.ask("SELECT rounds, side_by_side, looks, grade FROM benchmark_results")
    assert {(row["rounds"], row["side_by_side"]) for row in rows} == {
        (ROUNDS, f"{user.run_folder.name}.g1")
    }
    assert all(row["looks"] == [ROUNDS] for row in rows)
    assert [*pairs(user).values()] == [[*range(1, ROUNDS + 1)]] * 2
    for cell, other in pairs(user):
        assert cell.replace("scripted-0", "scripted-1") == other


def test_candidates_are_loaded_together_round_by_round(user: Workplace) -> None:
    done = of_models(user, 2).run()
    assert done.returncode == 0, done.stderr
    assert "2 jobs are measured side by side in 3 rounds: " in done.stderr
    assert "4 to run in 2 jobs (6 launches), " in done.stderr
    assert_compared(user)
    launches = user.launches()
    assert [job.round for job in launches] == [1, 1, 2, 2, 3, 3]
    assert all(one.id != other.id for one, other in [*pairwise(launches)][::2])
    assert all(job.takes_turns for job in launches)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, id="kill -9"),
        pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.nightly),
    ],
)
def test_a_run_that_ends_in_mid_round_goes_on_with_whole_rounds(
    user: Workplace, number: signal.Signals
) -> None:
    of_models(user, 2)
    process = user.start(*user.run_arguments())
    wait_until(lambda: results_of_rounds(user) > 4, "the middle of the second round")
    process.send_signal(number)
    process.communicate(timeout=60)
    wait_until(lambda: not launches_under_way(user), "the end of the candidates")
    assert 4 < results_of_rounds(user) < 8
    first = {path: path.stat().st_mtime_ns for path in user.round_files() if "round1" in path.name}
    done = user.resume()
    assert done.returncode == 0, done.stderr
    assert_compared(user)
    assert {path: path.stat().st_mtime_ns for path in first} == first


def results_of_rounds(user: Workplace) -> int:
    return len(user.round_files()) if user.has_begun else 0


def launches_under_way(user: Workplace, job: str = "") -> list[psutil.Process]:
    """The processes of the newest run's launches, or of those of a job, with its attempt."""
    every = psutil.process_iter(["cmdline"])
    file = f"{user.run_folder.name}/jobs/{job}"
    return [one for one in every if any(file in word for word in one.info["cmdline"] or ())]


@pytest.mark.nightly
@pytest.mark.parametrize("fault", ["die", pytest.param("raise", marks=pytest.mark.nightly)])
def test_a_candidate_that_fails_leaves_the_others_theirs(user: Workplace, fault: str) -> None:
    done = of_models(user, 3, {"*scripted-1-*-b2-*": fault}).run()
    assert done.returncode == 1, done.stderr
    failed = [cell for cell, status in user.verdicts().items() if status != "ok"]
    assert failed == ["fake-scripted-1-fp32-b2-s8-inference"]
    assert user.verdicts()[failed[0]] == ("lost" if fault == "die" else "failed")
    assert_nothing_left(user)
    assert len(pairs(user)) == 3 + 1
    assert {len(rounds) for rounds in pairs(user).values()} == {ROUNDS}


def test_a_killed_candidate_is_lost_and_the_other_goes_on(user: Workplace) -> None:
    process = of_models(user, 2).start(*user.run_arguments())
    second = "fake-scripted-1-fp32-inference.2.json"
    wait_until(lambda: user.has_begun and launches_under_way(user, second) != [], "round 2")
    launches_under_way(user, second)[0].kill()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    by_model = {
        name: {status for cell, status in user.verdicts().items() if name in cell}
        for name in ("scripted-0", "scripted-1")
    }
    assert by_model["scripted-0"] == {"ok"}
    assert "lost" in by_model["scripted-1"]
    assert_nothing_left(user)
    done = user.resume()
    assert done.returncode == 0, done.stderr
    assert_compared(user)


def test_a_host_of_a_fleet_measures_the_group_that_was_ordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cells = [fake_cell(threads=threads) for threads in (1, 2)]
    alone = a_plan(cells, fake_model(latency_s=0.01))
    folder = a_run_folder(tmp_path / "driver", side_by_side(alone, [(cells, None)]))
    order = Order(id="order-1", host="a", transport="ssh", version=runner.__version__)
    said, out = encode(frame_of(order, run_file_text(folder.run).encode())), BytesIO()
    assert serve_driver(BytesIO(said), out, end=lambda: None) == 0
    out.seek(0)
    arrivals, kinds = OrderArrivals(folder, cells, KeptObserver()), []
    while (frame := read_frame(out)) is not None:
        message = message_to_driver(frame)
        kinds.append(type(message))
        if not isinstance(message, Ended | Shared):
            arrivals.take(message, frame.body)
    assert (arrivals.left, kinds.count(Launched)) == ((), 2 * ROUNDS)
    records = folder.sound_records().values()
    assert {(one.status, one.rounds, one.side_by_side) for one in records} == {
        ("ok", ROUNDS, f"{folder.run.run_id}.g1")
    }
