"""Hosts that come and go, by a clock that is set."""

from threading import Event

from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.presence import ASK_AGAIN_S, BUSY_REST_S, Presence, Reach
from orchestrator.fleet.transport import Transport
from runner.contract.errors import Unavailable
from tests.orchestrator.fleet.test_execution import FACTS, Scripted, good
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
