"""The guilty image is found by containers in the images that real runs recorded."""

from pathlib import Path

import duckdb
import pytest

from tests.support.slower_copies import bench, copied
from tests.support.workplace import Workplace

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.serial,
    pytest.mark.engine,
    pytest.mark.timeout(1800),
]

SLOWER = 9.0
"""The share by which the second and the third version are slower: it shows on a busy host too."""
VERSIONS = ((0.0, 1), (SLOWER, 2), (SLOWER, 3))
"""Share and number of each version: three images."""
MEASURED = (
    *("--model", "bert-tiny", "--batch-size", "1", "--sequence-length", "32", "--threads", "1"),
    *("--profile", "quick", "--rounds", "5", "--set", "measure.min_duration=10s", "--no-verify"),
)
REGRESSION = 7


def run_ids(workplace: Workplace) -> list[str]:
    """The runs of the workplace's own database, in the order of time."""
    return [row["run_id"] for row in workplace.ask("FROM benchmark_runs ORDER BY run_id")]


def overlook_neighbours(workplace: Workplace) -> None:
    """Let no result be of grade D, which decides nothing: a busy host gives it."""
    with duckdb.connect(workplace.folder / "results/benchmarks.duckdb") as connection:
        connection.execute("UPDATE benchmark_results SET grade = 'C' WHERE grade = 'D'")


@pytest.mark.usefixtures("cpu_image")
def test_the_version_that_made_the_runner_slower_is_found(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, "docker")
    for share, number in VERSIONS:
        copy = copied(tmp_path / f"version-{number}", share, number)
        assert bench(copy, tmp_path / "results", MEASURED) == 0
    overlook_neighbours(workplace)
    before = run_ids(workplace)
    first, guilty, _ = before
    done = workplace.show(100, "regress", "--baseline", first, "--bisect", "--go")
    assert done.returncode == REGRESSION, done.stderr
    words = " ".join(done.stdout.split())
    assert f"The change came with run {guilty}, image" in words, done.stdout
    assert "What changed there: image" in words, done.stdout
    assert (tmp_path / "results" / "bisections" / "benchmarks.duckdb").is_file()
    assert run_ids(workplace) == before
