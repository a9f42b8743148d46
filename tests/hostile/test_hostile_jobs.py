"""A job that lies, behind a scripted launcher: it can falsify its own cell and nothing else."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from runner.contract.record.record import Record
from runner.contract.record.verdict import RETRIED
from tests.hostile.attacks import Attack
from tests.hostile.outcomes import FEW, KEPT, LOST, NOTHING
from tests.hostile.scene import Village, measured_records
from tests.support.siblings import siblings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def _each(attacks: Iterable[Attack]) -> pytest.MarkDecorator:
    tried = list(attacks)
    few = [attack for attack in tried if attack in FEW]
    return pytest.mark.parametrize("attack", siblings(tried, few, lambda attack: attack.__name__))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Record]:
    """Honest records of two batch sizes."""
    return measured_records(tmp_path_factory.mktemp("samples") / "out")


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory, samples: dict[int, Record]) -> Path:
    """A host with an honest run. Nobody changes it."""
    village = Village(tmp_path_factory.mktemp("settled"), samples)
    village.settle()
    return village.path


@pytest.fixture
def village(tmp_path: Path, settled: Path, samples: dict[int, Record]) -> Village:
    """A host with an honest run, which may be attacked."""
    shutil.copytree(settled, tmp_path, symlinks=True, dirs_exist_ok=True)
    return Village(tmp_path, samples)


def _withstand(village: Village, attack: Attack, expected: str, code: int) -> None:
    before, elsewhere = village.rows_of_the_victim(), village.elsewhere()
    outcome = village.attack(attack)
    assert village.verdicts() == village.planned(**{attack.__name__: expected})
    assert outcome.exit_code == code
    village.require_untouched(before, elsewhere)
    village.resume()
    retried = "ok" if expected in RETRIED else expected
    assert village.verdicts() == village.planned(**{attack.__name__: retried})
    village.require_untouched(before, elsewhere)


@_each(KEPT)
def test_what_lies_beside_a_record_changes_nothing(village: Village, attack: Attack) -> None:
    _withstand(village, attack, "ok", 0)


@_each(LOST)
def test_what_is_no_record_of_the_cell_costs_the_cell_alone(
    village: Village, attack: Attack
) -> None:
    _withstand(village, attack, "lost", 6)


@_each(NOTHING)
def test_a_launch_that_leaves_nothing_is_a_failure_like_others(
    village: Village, attack: Attack
) -> None:
    _withstand(village, attack, NOTHING[attack], 1)
