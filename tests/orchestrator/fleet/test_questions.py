"""Questions to hosts, and the states that the answers make: scripted hosts, no network."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from orchestrator.commands.fleet.group_command import print_hosts
from orchestrator.commands.fleet.hosts import host_states
from orchestrator.fleet.host import Hardware, HostFacts
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
from orchestrator.fleet.presence import ask_all, ask_facts
from orchestrator.fleet.transport import FleetHost, TransportName
from runner.contract.errors import Unavailable

FACTS = HostFacts(
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
    known, refused = frame_of(Known(facts=FACTS)), frame_of(Refused(reason="old", hint="update"))
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
    assert ask_facts(fleet, "a") == FACTS
    assert message_to_host(fleet.begun["a"].sent[0]) == FactsWanted()
    assert fleet.begun["a"].ended.wait(5)


def test_every_host_has_an_answer_or_a_reason_that_names_it() -> None:
    fleet = a_fleet()
    answers = ask_all(dict.fromkeys(fleet.scripts, fleet), limit_s=0.3)
    assert answers["a"] == FACTS
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
    assert (free["class"], free["facts"]["version"]) == (FACTS.class_id, "1.0")
    assert (silent["problem"], silent["facts"]) == ("host b: old", None)
    assert (busy["state"], busy["busy_with"]) == ("busy", "desk, pid 7")
