"""Hosts are asked what they are, and again when they were lost or busy; a journal keeps answers."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from orchestrator.commands.fleet.group_command import print_hosts
from orchestrator.commands.fleet.hosts import host_states
from orchestrator.fleet.host import Hardware, HostFacts, HostJournal, HostMemory
from orchestrator.fleet.messages import (
    Beat,
    FactsWanted,
    Frame,
    Known,
    Refused,
    frame_of,
    hear_nothing,
    message_to_host,
)
from orchestrator.fleet.presence import (
    ASK_AGAIN_S,
    BUSY_REST_S,
    Presence,
    Reach,
    ask_all,
    ask_facts,
)
from orchestrator.fleet.transport import FleetHost, Transport, TransportName
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


ANSWER = HostFacts(
    hostname="a",
    hardware=Hardware(cpu_model="EPYC", cpu_cores_logical=8, memory_total_bytes=32 << 30),
    launcher="docker",
    images={"cpu": "sha256:0123456789abcdef"},
    version="1.0",
    python="3.11.2",
)


@dataclass
class ScriptedConversation:
    """A host program that sends these frames, then ends or is silent until it is ended."""

    frames: list[Frame]
    is_silent: bool = False
    sent: list[Frame] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def send(self, frame: Frame) -> None:
        self.sent.append(frame)

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        if self.frames:
            return self.frames.pop(0)
        if self.is_silent:
            self.ended.wait()
        return None

    def end(self) -> None:
        self.ended.set()


@dataclass(eq=False)
class ScriptedTransport:
    """Hosts by name, each with its conversation or the error with which it refuses one."""

    scripts: dict[str, Callable[[], ScriptedConversation]]
    name: TransportName = "ssh"
    begun: dict[str, ScriptedConversation] = field(default_factory=dict)

    def hosts(self) -> Sequence[FleetHost]:
        return [FleetHost(name, "ssh") for name in self.scripts]

    def begin(self, host: str) -> ScriptedConversation:
        self.begun[host] = self.scripts[host]()
        return self.begun[host]

    def close(self) -> None:
        pass


def unreachable() -> ScriptedConversation:
    raise Unavailable("host d: no route", hint="see the cable")


def garbage() -> ScriptedConversation:
    return ScriptedConversation([Frame(b"{}")])


def a_fleet() -> ScriptedTransport:
    known, refused = frame_of(Known(facts=ANSWER)), frame_of(Refused(reason="old", hint="update"))
    return ScriptedTransport(
        {
            "a": lambda: ScriptedConversation([frame_of(Beat()), known]),
            "b": lambda: ScriptedConversation([refused]),
            "c": lambda: ScriptedConversation([frame_of(Beat())]),
            "d": unreachable,
            "e": garbage,
            "f": lambda: ScriptedConversation([], is_silent=True),
        }
    )


def test_a_host_tells_its_facts() -> None:
    fleet = a_fleet()
    assert ask_facts(fleet, "a") == ANSWER
    assert message_to_host(fleet.begun["a"].sent[0]) == FactsWanted()
    assert fleet.begun["a"].ended.wait(5)


def test_every_host_has_an_answer_or_a_reason_that_names_it() -> None:
    fleet = a_fleet()
    answers = ask_all(dict.fromkeys(fleet.scripts, fleet), limit_s=0.3)
    assert answers["a"] == ANSWER
    reasons = {name: str(answer) for name, answer in answers.items() if name != "a"}
    assert reasons["b"] == "host b: old"
    assert reasons["c"] == "host c: its program ended without an answer"
    assert reasons["d"] == "host d: no route"
    assert reasons["e"].startswith("host e: no message of this version")
    assert reasons["f"] == "host f: did not answer within 0 s"
    assert fleet.begun["f"].ended.wait(5)


def test_a_busy_host_is_not_asked_and_shown_with_its_driver(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = a_fleet()
    hosts = [FleetHost("a", "ray", {"room": "lab1"}), FleetHost("b", "ray"), FleetHost("f", "ray")]
    statuses = host_states(fleet, hosts, {"f": "desk, pid 7"}, limit_s=5)
    assert {status.host.name: status.state for status in statuses} == {
        "a": "free",
        "b": "silent",
        "f": "busy",
    }
    assert "f" not in fleet.begun
    print_hosts(statuses, as_json=False)
    text = capsys.readouterr().out
    for words in (
        "EPYC, 8 cores, 32 GiB",
        "room=lab1",
        "desk, pid 7",
        "cpu 0123456789ab",
        "b: old",
    ):
        assert words in text
    assert text.endswith("Free: 1 of 3.\n")
    print_hosts(statuses, as_json=True)
    free, silent, busy = json.loads(capsys.readouterr().out)
    assert (free["class"], free["facts"]["version"]) == (ANSWER.class_id, "1.0")
    assert (silent["problem"], silent["facts"]) == ("host b: old", None)
    assert (busy["state"], busy["busy_with"]) == ("busy", "desk, pid 7")
