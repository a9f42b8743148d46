"""Replay: `orchestrator replay` runs one row again, in the image it ran in."""

import json
import re
from pathlib import Path

import duckdb
import pytest

from orchestrator.images.image import Image
from tests.support.workplace import BY_PROCESSES, Workplace

pytestmark = [pytest.mark.slow, pytest.mark.serial]

CELL = "fake-scripted-0-fp32-b2-s8-inference"
VARIABLE = "ONEDNN_MAX_CPU_ISA"


@BY_PROCESSES
def test_a_result_is_measured_again_and_shown_beside_the_first(workplace: Workplace) -> None:
    workplace.write_matrix()
    workplace.environment[VARIABLE] = "AVX2"
    assert workplace.run("--seed", "7", "--inherit-environ", VARIABLE).returncode == 0
    first = workplace.run_folder.name
    del workplace.environment[VARIABLE]
    done = workplace.do("replay", f"{first}/{CELL}")
    assert done.returncode == 0, done.stderr
    second = workplace.run_folder.name
    assert first != second
    assert f"then: {first}/{CELL}" in done.stdout
    assert f"now:  {second}/{CELL}" in done.stdout
    assert re.search(r"[Tt]he(y differ by more than| two medians)", done.stdout)
    assert f"note: {VARIABLE} AVX2, now not set" in done.stdout
    rows = workplace.ask(
        "SELECT run_id, environment_id, launcher, image_digest, seed, status"
        " FROM benchmark_results JOIN environments USING (environment_id)"
        f" WHERE cell_id = '{CELL}' ORDER BY run_id"
    )
    assert [row.pop("run_id") for row in rows] == [first, second]
    assert len({row.pop("environment_id") for row in rows}) == 2
    assert rows[0] == rows[1]
    assert rows[0]["launcher"] == workplace.launcher
    assert (rows[0]["image_digest"] is None) == (workplace.launcher == "process")
    (job,) = workplace.launches()
    assert ([cell.id for cell in job.cells], job.seed) == ([CELL], 7)
    assert workplace.unfinished() == []


@pytest.mark.nightly
def test_a_failure_can_be_repeated_and_fails_again(user: Workplace) -> None:
    user.write_matrix({"*-b2-*": "raise"})
    user.run()
    done = user.do("replay", f"last/{CELL}", "--json")
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    assert [data[when]["status"] for when in ("then", "now")] == ["failed", "failed"]
    assert (data["outcome"], data["undecided_because"]) == (None, None)


def forge_digest(workplace: Workplace) -> None:
    """Let the database say that it was all measured in an image that does not exist."""
    with duckdb.connect(workplace.folder / "results/benchmarks.duckdb") as connection:
        connection.execute("UPDATE environments SET image_digest = ?", ["sha256:" + "0" * 64])


@pytest.mark.engine
@pytest.mark.nightly
def test_a_missing_image_is_an_error_before_anything_is_created(
    tmp_path: Path, cpu_image: Image
) -> None:
    workplace = Workplace(tmp_path, "docker")
    workplace.write_matrix(batch_sizes=[2])
    workplace.run()
    folder = workplace.run_folder
    forge_digest(workplace)
    done = workplace.do("replay", f"last/{CELL}")
    assert done.returncode == 5, done.stderr
    assert "no image with the digest sha256:000" in done.stderr
    assert workplace.run_folder == folder
