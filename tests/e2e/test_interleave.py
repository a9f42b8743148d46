"""Two images side by side: as two of one run, against an older run, killed and resumed."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from orchestrator.images.image import BuiltImages, Image, state_file
from orchestrator.system.engine import connect_engine
from runner.contract.job import Job
from tests.support.workplace import Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial, pytest.mark.engine]

AGAINST = ("--compare-to", "last", "--interleave")
MISSING = "sha256:" + "0" * 64
NOTHING_TO_JUDGE = 3
"""The fake backend proves no device, so that no verdict quotes it."""


@pytest.fixture
def labelled(cpu_image: Image) -> Iterator[str]:
    """The digest of an image that differs from today's by a label alone; removed in the end."""
    client = connect_engine()
    text = f"FROM {cpu_image.reference}\nLABEL rebuilt=yes\n"
    built, _ = client.images.build(fileobj=io.BytesIO(text.encode()))
    BuiltImages(state_file(os.environ)).add("cpu", str(built.id), "sha256:of the test")
    yield str(built.id)
    client.images.remove(built.id, force=True)
    client.close()


@pytest.fixture
def workplace(tmp_path: Path, cpu_image: Image) -> Workplace:
    """A place where a cell was measured in a container, in which nothing is verified twice."""
    place = Workplace(tmp_path, "docker")
    place.write_matrix(batch_sizes=[2], latency_s=0.01)
    assert place.run().returncode == 0
    return place


def forge_digest(workplace: Workplace, digest: str) -> None:
    """Let the database say that all was measured in this image."""
    with duckdb.connect(workplace.folder / "results/benchmarks.duckdb") as connection:
        connection.execute("UPDATE environments SET image_digest = ?", [digest])


def jobs_of(folder: Path) -> list[tuple[int, Job]]:
    """The launches of a run, with the time of each."""
    files = folder.glob("jobs/*.json")
    return [(f.stat().st_mtime_ns, Job.model_validate_json(f.read_bytes())) for f in files]


def test_the_first_image_is_the_baseline(tmp_path: Path, labelled: str, cpu_image: Image) -> None:
    user = Workplace(tmp_path, "docker")
    user.write_matrix(batch_sizes=[2], latency_s=0.01)
    images = ("--image", f"fake={labelled}", "--image", f"fake={cpu_image.reference}")
    done = user.run(*images, "--threshold", "20%")
    assert done.returncode == NOTHING_TO_JUDGE, done.stderr
    assert f"side by side with the first image: fake in {labelled}" in done.stderr
    rows = user.ask(
        "SELECT status, rounds, image_digest, interleaved_with IS NULL AS alone"
        " FROM benchmark_results JOIN environments USING (environment_id) ORDER BY run_id"
    )
    assert [row["image_digest"] for row in rows] == [labelled, cpu_image.digest]
    assert [row["alone"] for row in rows] == [True, False]
    assert {(row["status"], row["rounds"] >= 6) for row in rows} == {("ok", True)}


def test_two_images_are_measured_side_by_side(
    workplace: Workplace, labelled: str, cpu_image: Image
) -> None:
    forge_digest(workplace, labelled)
    done = workplace.run(*AGAINST, "--threshold", "20%")
    assert done.returncode == NOTHING_TO_JUDGE, done.stderr
    run = workplace.run_folder
    (row,) = workplace.ask(f"SELECT * FROM benchmark_results WHERE run_id = '{run.name}'")
    beside = row["interleaved_with"]
    rows = workplace.ask(
        "SELECT rounds, image_digest, interleaved_with FROM benchmark_results"
        f" JOIN environments USING (environment_id) WHERE run_id IN ('{run.name}', '{beside}')"
        " ORDER BY run_id"
    )
    assert rows[0]["rounds"] == rows[1]["rounds"] in (6, 12, 24)
    assert [one["image_digest"] for one in rows] == [labelled, cpu_image.digest]
    launched = sorted((*jobs_of(run), *jobs_of(run.with_name(beside))), key=lambda one: one[0])
    rounds = [{job.run_id for _, job in launched[at : at + 2]} for at in range(0, len(launched), 2)]
    assert rounds == [{run.name, beside}] * rows[0]["rounds"]
    assert {job.takes_turns for _, job in launched} == {True}
    pairs = workplace.ask(
        "SELECT DISTINCT p.round, p.bursts FROM paired_ratios p JOIN benchmark_results r"
        f" USING (result_id) WHERE r.run_id = '{run.name}'"
    )
    assert len(pairs) == rows[0]["rounds"]
    assert {one["bursts"] % 2 for one in pairs} == {0}


@pytest.mark.nightly
def test_kill_9_in_a_round_leaves_whole_rounds_when_it_is_resumed(workplace: Workplace) -> None:
    process = workplace.start(*workplace.run_arguments(*AGAINST, "--threshold", "20%"))
    wait_until(lambda: len(workplace.launches()) >= 4, "the fourth launch of the run")
    process.kill()
    process.communicate()
    done = workplace.resume()
    assert done.returncode == NOTHING_TO_JUDGE, done.stderr
    run = workplace.run_folder
    rows = workplace.ask(
        "SELECT rounds, status FROM benchmark_results WHERE run_id = '"
        f"{run.name}' OR run_id = (SELECT max(interleaved_with) FROM benchmark_results)"
    )
    assert len(rows) == 2
    assert rows[0] == rows[1]
    assert workplace.unfinished() == []


def test_an_image_that_is_gone_is_an_error_before_anything_is_made(workplace: Workplace) -> None:
    forge_digest(workplace, MISSING)
    folder = workplace.run_folder
    done = workplace.run(*AGAINST)
    assert done.returncode == 5, done.stderr
    assert f"no image with the digest {MISSING}" in done.stderr
    assert workplace.run_folder == folder
