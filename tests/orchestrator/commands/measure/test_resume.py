import json
import shutil
from pathlib import Path

import pytest

from tests.support.command_line import complains
from tests.support.workplace import Workplace


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "*"],
        ["--set", "axes.batch_size=1"],
        ["--weights-seed", "3"],
        ["--dry-run"],
        ["--compare-to", "last"],
    ],
    ids=lambda options: options[0],
)
def test_resuming_changes_no_plan(measured: Workplace, options: list[str]) -> None:
    done = measured.do("run", "--resume", "last", *options)
    complains(done, 2, f"so {options[0]} cannot change it")


def test_an_unknown_run_or_another_matrix_is_refused(measured: Workplace) -> None:
    done = measured.do("run", "--resume", "nobody")
    complains(done, 2, "'nobody' is not a run", measured.run_folder.name)
    complains(measured.do("run", "nowhere.yaml", "--resume", "last"), 2, "nowhere.yaml")
    other = measured.folder / "other.yaml"
    other.write_text((measured.folder / "matrix.yaml").read_text() + "# another\n")
    done = measured.do("run", "other.yaml", "--resume", "last")
    complains(done, 2, "other.yaml: differs from the matrix of run")


def test_resuming_takes_the_variables_that_the_run_named(
    measured: Workplace, tmp_path: Path
) -> None:
    place = Workplace(shutil.copytree(measured.folder, tmp_path / "named"), "process")
    for record in place.run_folder.rglob("*.parquet"):
        record.unlink()
    path = place.run_folder / "run.json"
    run = json.loads(path.read_text())
    run["options"]["inherit_environ"] = ["UNSET_HERE"]
    path.write_text(json.dumps(run))
    complains(place.resume(), 2, "'UNSET_HERE' is not set in this environment")


def test_resuming_merges_what_a_killed_run_did_not(measured: Workplace, tmp_path: Path) -> None:
    place = Workplace(shutil.copytree(measured.folder, tmp_path / "killed"), "process")
    (place.folder / "results/benchmarks.duckdb").unlink()
    complains(place.resume(), 3, "a verdict for each of its cells")
    assert sorted(place.verdicts().values()) == ["failed", "ok", "ok"]
    assert place.has_one_verdict_each()
