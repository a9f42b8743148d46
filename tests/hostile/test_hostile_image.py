"""An image that lies, in real containers: one run in which each job commits an attack."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.images.image import Image, read_image
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.system.engine import connect_engine
from tests.hostile import attacks
from tests.hostile.attacks import Attack
from tests.hostile.outcomes import BY_CONTAINER, KEPT, LOST, NOTHING
from tests.hostile.scene import Village, measured_records
from tests.support.jobs import OneImage

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.serial]
TAG = "accelmatrix-hostile:test"
LONGEST_PATH = 4_096
"""Bytes with which Linux takes a path; what lies deeper can be neither named nor given away."""
REPRESENTATIVES = {
    attacks.setuid: "ok",
    attacks.endless_device: "lost",
    attacks.folder_as_temporary_file: "lost",
    attacks.talks_without_end: "timeout",
    attacks.fills_the_disk: "failed",
}
"""What the gate tries; the whole table takes minutes."""
EVERYTHING = dict.fromkeys(KEPT, "ok") | dict.fromkeys(LOST, "lost") | NOTHING | BY_CONTAINER


@pytest.fixture(scope="module")
def launcher(
    cpu_image: Image, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DockerLauncher]:
    """A launcher whose image measures honestly and then commits what its job's model names."""
    folder = tmp_path_factory.mktemp("image")
    (folder / "attacks.py").write_bytes(Path(attacks.__file__).read_bytes())
    (folder / "Dockerfile").write_text(
        f"FROM {cpu_image.id}\n"
        "COPY attacks.py /opt/accelmatrix/\n"
        'ENTRYPOINT ["python", "/opt/accelmatrix/attacks.py"]\n'
    )
    with closing(connect_engine()) as client:
        client.images.build(path=str(folder), tag=TAG, rm=True)
        image = read_image(TAG, client.api.inspect_image(TAG))
        yield DockerLauncher(client, OneImage(image))
        client.api.remove_image(TAG, force=True)


def _withstand(folder: Path, launcher: DockerLauncher, expected: Mapping[Attack, str]) -> None:
    village = Village(folder, measured_records(folder / "samples"))
    village.settle()
    before, elsewhere = village.rows_of_the_victim(), village.elsewhere()
    outcome = village.execute([*expected], launcher)
    names = {attack.__name__: status for attack, status in expected.items()}
    assert village.verdicts() == village.planned(**names)
    assert outcome.exit_code == 6
    village.require_untouched(before, elsewhere)
    everything = (
        Path(inside, name)
        for inside, folders, files in os.walk(village.path)
        for name in (*folders, *files)
    )
    owners = {path.lstat().st_uid for path in everything if len(str(path)) < LONGEST_PATH}
    assert owners == {folder.stat().st_uid}


def test_a_hostile_image_falsifies_its_own_cells_alone(
    tmp_path: Path, launcher: DockerLauncher
) -> None:
    _withstand(tmp_path, launcher, REPRESENTATIVES)


@pytest.mark.nightly
def test_no_attack_of_a_hostile_image_reaches_further(
    tmp_path: Path, launcher: DockerLauncher
) -> None:
    _withstand(tmp_path, launcher, EVERYTHING)
