"""No space left, at each write: the run says so, and resuming it leaves one verdict per cell."""

import pytest

from tests.faults.place import FailingPlace
from tests.support.failpoints import Failpoint

pytestmark = pytest.mark.serial
WRITES = 24
"""About as many files does the orchestrator write, name or sync in a run of three cells."""
KEPT = 8


def _case(nth: int) -> object:
    return pytest.param(nth, marks=pytest.mark.slow if nth == KEPT else pytest.mark.nightly)


@pytest.mark.parametrize("nth", [*map(_case, range(1, WRITES + 1))])
def test_a_run_whose_disk_is_full_from_one_write_on_is_finished(
    place: FailingPlace, nth: int
) -> None:
    place.write_matrix()
    done = place.fail(Failpoint("full", "before", nth, "writes"), *place.run_arguments())
    assert done.returncode in {0, 6}, done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "No space left" in done.stderr
        assert "hint: " in done.stderr
    place.finish(0, 3)


@pytest.mark.nightly
@pytest.mark.parametrize("nth", range(1, 9))
def test_a_merge_whose_disk_is_full_from_one_write_on_is_repeated(
    place: FailingPlace, nth: int
) -> None:
    place.write_matrix()
    assert place.run("--database", "other.duckdb").returncode == 0
    done = place.fail(Failpoint("full", "before", nth, "writes"), "merge", "results", "--scratch")
    assert done.returncode in {0, 6}, done.stderr
    assert "Traceback" not in done.stderr
    assert place.do("merge", "results", "--scratch").returncode == 0
    place.finish(3)
