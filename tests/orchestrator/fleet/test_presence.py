"""Hosts that come and go, by a clock that is set."""

from pathlib import Path
from threading import Event

from orchestrator.fleet.host import HostFacts, HostJournal, HostMemory
from orchestrator.fleet.presence import ASK_AGAIN_S, BUSY_REST_S, Presence, Reach
from orchestrator.fleet.transport import Transport
from runner.contract.errors import Unavailable
from tests.orchestrator.fleet.test_execution import FACTS, Scripted, good
from tests.orchestrator.fleet.test_units import a_host
from tests.support.fleet import soon


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_host_that_left_is_asked_again_and_comes_back() -> None:
    clock, asked, is_back = Clock(), list[str](), Event()

    def ask(transport: Transport, host: str) -> HostFacts:
        asked.append(host)
        if not is_back.is_set():
            raise Unavailable("no route")
        return FACTS

    fleet = Scripted({"a": [good]})
    presence = Presence({"a": Reach(fleet, FACTS)}, {"b": fleet}, ask, clock=clock)
    assert presence.alive == {"a"}
    assert soon(lambda: presence.returned() == {} and asked == ["b"])
    presence.leave("a")
    assert presence.alive == set()
    is_back.set()
    clock.now += ASK_AGAIN_S
    returned = dict[str, Reach]()
    assert soon(lambda: bool(returned.update(presence.returned()) or len(returned) == 2))
    assert presence.alive == presence.free == {"a", "b"}


def test_a_busy_host_rests_and_is_there() -> None:
    clock, fleet = Clock(), Scripted({"a": [good]})
    presence = Presence({"a": Reach(fleet, FACTS)}, {}, lambda *_: FACTS, clock=clock)
    assert presence.rest("a")
    assert not presence.rest("a")
    assert (presence.alive, presence.free) == ({"a"}, set())
    clock.now += BUSY_REST_S
    assert presence.free == {"a"}
    presence.work("a")
    assert presence.rest("a")


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
