"""Two images of one backend: the second is measured side by side with the first, and judged."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.images.image import Image
from orchestrator.system.engine import connect_engine
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.slow, pytest.mark.serial, pytest.mark.engine]

NOTHING_TO_JUDGE = 3
"""The fake backend proves no device, so that no verdict quotes it."""


@pytest.fixture
def labelled(cpu_image: Image) -> Iterator[str]:
    """The id of an image that differs from today's by a label alone; removed in the end."""
    client = connect_engine()
    text = f"FROM {cpu_image.reference}\nLABEL another=yes\n"
    built, _ = client.images.build(fileobj=io.BytesIO(text.encode()))
    yield str(built.id)
    client.images.remove(built.id, force=True)
    client.close()


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
