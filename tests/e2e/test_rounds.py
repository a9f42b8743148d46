"""Rounds: they spread each cell's iterations over the run, and survive whatever ends one."""

import pytest

from tests.support.workplace import BY_PROCESSES, Workplace

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
