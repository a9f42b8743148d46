"""The journal of hosts: last facts, the work of each, lost orders; damaged files count as none."""

from pathlib import Path

from orchestrator.fleet.journal import HostJournal, HostMemory
from tests.orchestrator.fleet.test_units import a_host

HOST = "lab/1 ü"
"""A name that is no name of a file."""


def test_facts_work_and_lost_orders_are_kept_by_host(tmp_path: Path) -> None:
    journal = HostJournal(tmp_path / "journal")
    assert journal.of(HOST) == HostMemory()
    journal.keep_facts({HOST: a_host()})
    journal.begin(HOST, "run-1/a")
    entry = journal.of(HOST)
    assert entry.facts == a_host()
    assert entry.work == "run-1/a"
    assert entry.holder is not None
    journal.end(HOST, "silent for 30s")
    journal.end(HOST, None)
    entry = journal.of(HOST)
    assert entry.holder is None
    assert [order.reason for order in entry.lost] == ["silent for 30s"]
    assert journal.of("another") == HostMemory()


def test_a_driver_that_has_ended_holds_no_host(tmp_path: Path) -> None:
    journal = HostJournal(tmp_path)
    journal.begin(HOST, "run-1/a")
    entry = journal.of(HOST)
    assert entry.driver_started_s is not None
    later = entry.model_copy(update={"driver_started_s": entry.driver_started_s - 60})
    assert later.holder is None
    assert entry.model_copy(update={"driver": 2**22 + 1}).holder is None


def test_the_last_lost_orders_are_kept_and_a_damaged_file_is_none(tmp_path: Path) -> None:
    journal = HostJournal(tmp_path)
    for at in range(25):
        journal.end(HOST, f"fault {at}")
    assert [order.reason for order in journal.of(HOST).lost][-1:] == ["fault 24"]
    assert len(journal.of(HOST).lost) == 20
    (file,) = tmp_path.iterdir()
    file.write_text("{")
    assert journal.of(HOST) == HostMemory()
    HostJournal().end(HOST, "nothing is kept")


def test_what_cannot_be_written_is_dropped(tmp_path: Path) -> None:
    journal = HostJournal(tmp_path)
    (tmp_path / "lab.json").mkdir()
    journal.begin("lab", "run/unit")
    assert journal.of("lab").work is None
