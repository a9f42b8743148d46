import json

import pytest

from tests.support.command_line import complains
from tests.support.workplace import Workplace


def test_status_shows_the_database_and_the_verdicts_of_one_run(measured: Workplace) -> None:
    run_id = measured.run_folder.name
    status = json.loads(measured.do("status", "--json").stdout)
    (run,) = status["runs"]
    assert (run["run_id"], run["counts"]) == (run_id, {"failed": 1, "ok": 2})
    assert status["parquet_files"] == status["rows"]["benchmark_results"] == 3
    (covered,) = status["covered"]
    assert (covered["backend"], covered["best"], covered["results"]) == ("fake", "unproven", 3)
    assert run_id in measured.do("status").stdout
    for name in ("last", run_id):
        results = json.loads(measured.do("status", name, "--json").stdout)["results"]
        assert len(results) == 3


def test_an_unknown_run_has_no_status(measured: Workplace) -> None:
    complains(measured.do("status", "nobody"), 2, "'nobody' is not a run")


@pytest.mark.parametrize("command", [["status"], ["status", "last"], ["status", "--json"]])
def test_without_a_database_there_is_no_status(place: Workplace, command: list[str]) -> None:
    complains(place.do(*command), 6, "benchmarks.duckdb: there is no database yet")
    assert not (place.folder / "results").exists()
