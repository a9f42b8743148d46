"""A job that lies, behind a scripted launcher: it can falsify its own cell and nothing else."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from runner.contract.record import RETRIED, Record
from tests.hostile import attacks
from tests.hostile.attacks import Attack
from tests.hostile.outcomes import KEPT, LOST, NOTHING
from tests.hostile.scene import Village, measured_records

_ALWAYS = {
    attacks.other_run_nested,
    attacks.other_machine_of_the_same_id,
    attacks.fifo,
}
"""The attacks that the fast suite tries as well."""


_SLOW = (pytest.mark.slow,)


def _cases(attacks_: Iterable[Attack]) -> list[ParameterSet]:
    return [
        pytest.param(
            attack, id=attack.__name__, marks=[] if attack in _ALWAYS else pytest.mark.slow
        )
        for attack in attacks_
    ]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Record]:
    """Honest records of two batch sizes."""
    return measured_records(tmp_path_factory.mktemp("samples") / "out")


@pytest.fixture
def village(tmp_path: Path, samples: dict[int, Record]) -> Village:
    """A host with an honest run."""
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", _cases(KEPT))
def test_what_lies_beside_a_record_changes_nothing(village: Village, attack: Attack) -> None:
    _withstand(village, attack, "ok", 0)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", _cases(LOST))
def test_what_is_no_record_of_the_cell_costs_the_cell_alone(
    village: Village, attack: Attack
) -> None:
    _withstand(village, attack, "lost", 6)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", _cases(NOTHING))
def test_a_launch_that_leaves_nothing_is_a_failure_like_others(
    village: Village, attack: Attack
) -> None:
    _withstand(village, attack, NOTHING[attack], 1)
