"""What a fleet's daemons took while a cell was timed: counted, recorded, graded."""

from pathlib import Path

import pytest

from orchestrator.fleet.daemons import DaemonMeter, DaemonUse, spent_s, with_transport
from tests.support.records import NOISY, a_record


class Host:
    """A host whose clock, daemons and beats the test moves."""

    def __init__(self) -> None:
        self.now, self.spent, self.beats = 0.0, 0.0, 0
        self.meter = DaemonMeter(lambda: self.spent, lambda: self.beats, lambda: self.now)

    def pass_by(self, seconds: float, spent: float, beats: int = 0) -> None:
        self.now, self.spent, self.beats = (
            self.now + seconds,
            self.spent + spent,
            self.beats + beats,
        )


def test_only_timed_phases_count_and_the_worst_round_is_kept() -> None:
    host = Host()
    for spent in (0.1, 0.3, 0.2):
        host.pass_by(5.0, spent=4.0, beats=9)
        host.meter.begin("a")
        host.pass_by(10.0, spent, beats=1)
        host.meter.end()
        host.meter.end()
    assert host.meter.use_of("a") == DaemonUse(pytest.approx(0.03), 3)
    assert host.meter.use_of("b") is None


@pytest.mark.parametrize(
    ("share", "before", "grade"),
    [
        (0.01, "A", "A"),
        (0.02, "A", "B"),
        (0.06, "A", "C"),
        (0.06, "D", "D"),
        (0.3, "B", "D"),
        (None, "A", "A"),
    ],
)
def test_more_than_a_percent_of_a_core_costs_the_grade(
    share: float | None, before: str, grade: str
) -> None:
    record = a_record(grade=before, doubts=[NOISY])
    done = with_transport(record, "ray", DaemonUse(share, 2))
    assert (done.transport, done.noise_daemon_share, done.noise_daemon_beats) == ("ray", share, 2)
    assert done.grade == grade
    doubts = list(done.doubts or [])
    assert (len(doubts) == 2) is (share is not None and share > 0.01)
    assert doubts.index(NOISY) == (1 if grade > before else 0)
    doubts.remove(NOISY)
    assert all(doubt.code == "daemons" for doubt in doubts)


def test_a_cell_that_was_never_timed_tells_its_transport_alone() -> None:
    failed = a_record(status="failed", reason="a fault", grade=None)
    assert with_transport(failed, "ssh", None) == failed.model_copy(update={"transport": "ssh"})


def test_processor_time_is_that_of_all_threads(tmp_path: Path) -> None:
    for pid, thread, spent in ((7, 7, 1_500_000_000), (7, 8, 250_000_000), (9, 9, 1)):
        file = tmp_path / f"{pid}/task/{thread}/schedstat"
        file.parent.mkdir(parents=True)
        file.write_text(f"{spent} 17 3\n")
    assert spent_s([7], tmp_path) == 1.75
    assert spent_s([8], tmp_path) is None
