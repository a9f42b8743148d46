import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.workplace import Workplace
from tests.orchestrator.cli.checks import complains


def test_status_shows_runs_and_the_verdicts_of_one(measured: Workplace) -> None:
    run_id = measured.run_folder.name
    (run,) = json.loads(measured.do("status", "--json").stdout)
    assert (run["run_id"], run["counts"]) == (run_id, {"failed": 1, "ok": 2})
    assert run_id in measured.do("status").stdout
    for name in ("last", run_id):
        results = json.loads(measured.do("status", name, "--json").stdout)["results"]
        assert len(results) == 3


def test_an_unknown_run_has_no_status(measured: Workplace) -> None:
    complains(measured.do("status", "nobody"), 2, "'nobody' is not a run")


@pytest.mark.parametrize("command", [["status"], ["status", "last"], ["query", "SELECT 1"]])
def test_without_a_database_there_is_nothing_to_ask(place: Workplace, command: list[str]) -> None:
    complains(place.do(*command), 6, "benchmarks.duckdb: there is no database yet")
    assert not (place.folder / "results").exists()


ANSWERS: dict[str, Callable[[str], Any]] = {
    "csv": lambda text: [line.split(",") for line in text.splitlines()[1:]],
    "json": lambda text: [[str(value) for value in row.values()] for row in json.loads(text)],
    "table": lambda text: [line.split() for line in text.splitlines()[1:]],
}


@pytest.mark.parametrize("form", ANSWERS)
def test_a_query_answers_in_every_format(measured: Workplace, form: str) -> None:
    sql = "SELECT batch_size, status FROM benchmark_results ORDER BY batch_size"
    done = measured.do("query", sql, "--format", form)
    assert ANSWERS[form](done.stdout) == [["1", "ok"], ["2", "failed"], ["4", "ok"]]


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT nothing FROM benchmark_results", "nothing"),
        ("SELEC 1", "SELEC"),
        ("DROP TABLE benchmark_results", "read-only"),
    ],
)
def test_a_query_that_cannot_be_answered(measured: Workplace, sql: str, word: str) -> None:
    complains(measured.do("query", sql), 6, "the query failed", word)


def test_merge_tells_what_it_did(place: Workplace) -> None:
    place.run()
    done = place.do("merge", "results", "--scratch", "--database", "other.duckdb")
    assert done.stdout == "3 inserted, 0 replaced, 0 unchanged\n"
    complains(place.do("merge", "nowhere", "--scratch"), 6, "nowhere: no such file or folder")
