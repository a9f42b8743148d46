"""A clock that is set back an hour: what is measured afterwards counts."""

from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.store.records.validate import read_record
from runner.contract.record.files import save_record
from runner.contract.record.verdict import Status
from tests.faults.place import FailingPlace

AHEAD = timedelta(hours=1)


def set_clock_back(place: FailingPlace, status: Status) -> None:
    """All that was recorded so far lies an hour ahead of the clock, with that verdict."""
    for path in place.records():
        record = read_record(path)
        changes = {"status": status, "recorded_at": record.recorded_at + AHEAD}
        save_record(record.model_copy(update=changes), path.parent)
    assert place.do("merge", "results", "--scratch").returncode == 0
    assert set(place.verdicts().values()) == {status}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param("unavailable", marks=pytest.mark.slow),
        pytest.param("lost", marks=pytest.mark.nightly),
    ],
)
def test_a_cell_measured_after_the_clock_was_set_back_keeps_its_verdict(
    place: FailingPlace, status: Status
) -> None:
    place.write_matrix(batch_sizes=[1])
    assert place.run("--budget", "0s").returncode == 3
    set_clock_back(place, status)
    place.finish()
    assert set(place.verdicts().values()) == {"ok"}
    merged = place.do("merge", "results", "--scratch")
    assert merged.stdout.startswith("0 inserted, 0 replaced, 1 unchanged\n")


@pytest.mark.nightly
def test_a_run_that_began_after_the_clock_was_set_back_is_the_last(place: FailingPlace) -> None:
    place.write_matrix(batch_sizes=[1])
    assert place.run("--budget", "0s").returncode == 3
    ahead = datetime.now(UTC) + AHEAD
    place.run_folder.rename(place.folder / "results" / f"{ahead:%Y%m%d-%H%M%S}-0000")
    assert place.run("--budget", "0s").returncode == 3
    place.finish()


@pytest.mark.nightly
def test_a_verdict_from_an_hour_ahead_gives_way_to_no_older_one(place: FailingPlace) -> None:
    place.write_matrix(batch_sizes=[1])
    assert place.run("--budget", "0s").returncode == 3
    set_clock_back(place, "failed")
    place.finish(3)
    assert set(place.verdicts().values()) == {"failed"}
