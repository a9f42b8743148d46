"""Rounds: they spread each cell's iterations over the run, and survive whatever ends one."""

import signal

import pytest

from tests.support.workplace import BY_PROCESSES, Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]

ROUNDS = 3


@BY_PROCESSES
def test_rounds_interleave_the_jobs_and_leave_one_record_each(workplace: Workplace) -> None:
    workplace.write_matrix(models=2, batch_sizes=[1, 2], rounds=ROUNDS)
    done = workplace.run()
    assert done.returncode == 0, done.stderr
    launches = workplace.launches()
    assert [job.round for job in launches] == [1, 1, 2, 2, 3, 3]
    for number in range(ROUNDS):
        assert len({job.id for job in launches[2 * number : 2 * number + 2]}) == 2
    workplace.check("ok")
    assert len(workplace.round_files()) == (ROUNDS - 1) * 4
    assert "2 cells, round 2 of 3" in done.stderr
    assert [f"[{number}/4]" in done.stderr for number in (1, 4)] == [True, True]
    rows = workplace.ask(
        "SELECT rounds, iterations, round_iterations, drift, drift_p_value,"
        " len(durations_ns) AS kept"
        " FROM benchmark_results JOIN raw_benchmark_data USING (result_id)"
    )
    assert len(rows) == 4
    for row in rows:
        assert (row["rounds"], len(row["round_iterations"])) == (ROUNDS, ROUNDS)
        assert row["iterations"] == sum(row["round_iterations"]) == row["kept"]
        assert row["drift"] is not None
        assert 0 <= row["drift_p_value"] <= 1
    assert workplace.unfinished() == []


@pytest.mark.nightly
@BY_PROCESSES
def test_kill_9_in_the_second_round_loses_no_round(workplace: Workplace) -> None:
    workplace.write_matrix(models=2, batch_sizes=[1, 2], latency_s=0.02, rounds=ROUNDS)
    process = workplace.start(*workplace.run_arguments())
    wait_until(lambda: len(list(workplace.folder.glob("results/*/jobs/*.json"))) == 4, "round 2")
    process.kill()
    process.communicate()
    kept = {path: path.stat().st_mtime_ns for path in workplace.round_files()}
    assert len(kept) >= 4
    assert workplace.records() == []
    done = workplace.resume()
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, done.stderr
    workplace.check("ok")


@pytest.mark.nightly
@BY_PROCESSES
def test_a_damaged_result_of_a_round_costs_its_cell_a_new_start_and_nothing_else(
    workplace: Workplace,
) -> None:
    workplace.write_matrix({"*scripted-1-*": "hang"}, models=2, batch_sizes=[1, 2], rounds=2)
    process = workplace.start(*workplace.run_arguments())
    wait_until(lambda: workplace.is_hanging("scripted-1"), "the hang")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    workplace.heal()
    for path in workplace.round_files()[:1]:
        path.write_bytes(path.read_bytes()[:30])
    done = workplace.resume()
    assert done.returncode == 0, done.stderr
    workplace.check("ok")
    rounds = workplace.ask("SELECT DISTINCT rounds FROM benchmark_results")
    assert rounds == [{"rounds": 2}]
