"""A maintainer's CI: exit codes, JSON and a file of numbers, with no SQL and no file edited."""

import csv
import json
from pathlib import Path

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.records import a_record
from tests.support.workplace import Workplace


@pytest.fixture
def maintainer(tmp_path: Path) -> Workplace:
    """A checkout with a matrix."""
    return Workplace(tmp_path, "process")


@pytest.mark.slow
def test_a_run_says_by_its_exit_code_and_in_json_whether_all_went_well(
    maintainer: Workplace,
) -> None:
    maintainer.write_matrix(batch_sizes=(1,))
    done = maintainer.run("--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["status"], result["latency_median_ms"] > 0) == ("ok", True)

    maintainer.write_matrix(batch_sizes=(1, 2), faults={"*-b2-*": "raise"})
    done = maintainer.run("--json")
    assert done.returncode == 1
    results = json.loads(done.stdout)["results"]
    assert sorted(result["status"] for result in results) == ["failed", "ok"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "matrix.yaml", "--select", "typo"), 3),
        (("plan", "matrix.yaml", "--select", "typo", "--format", "github"), 3),
        (("run", "nothing.yaml"), 2),
        (("status", "last"), 6),
    ],
    ids=["nothing to do", "nothing for GitHub", "no matrix", "no database"],
)
def test_a_mistake_is_no_success(
    maintainer: Workplace, arguments: tuple[str, ...], code: int
) -> None:
    maintainer.write_matrix()
    done = maintainer.do(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("error: ") == 1


def test_numbers_leave_as_a_file_for_the_next_step(maintainer: Workplace) -> None:
    results = maintainer.folder / "results"
    results.mkdir()
    with Store.open(results / "benchmarks.duckdb") as store:
        store.merge([save_record(a_record(latency_median_s=0.02), results)], words=record_words)
    done = maintainer.do("export", "performance", "--output", "numbers.csv")
    assert done.returncode == 0, done.stderr
    with Path(maintainer.folder, "numbers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["latency_median_ms"]) for row in rows] == [20.0]
    assert rows[0]["grade"]
