"""The hosts that a run begins with: who is left out, who is waited for, by which launcher."""

import time
from collections.abc import Callable

import pytest

import runner
from orchestrator.commands.fleet.hosts import ReachedFleet, reach
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.messages import FactsWanted, Known, frame_of, message_to_host
from orchestrator.fleet.transport import HostBusy
from orchestrator.images.source import runner_digest
from orchestrator.running.options import RunOptions
from runner.contract.errors import Unavailable
from tests.orchestrator.fleet.test_presence import FACTS, ScriptedConversation, ScriptedTransport
from tests.support.words import raises_words

Script = Callable[[], ScriptedConversation]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal of this test's own."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("ACCELMATRIX_STATE", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))


def facts(**changes: object) -> HostFacts:
    own = {"version": runner.__version__, "sources": runner_digest(), "launcher": "process"}
    return FACTS.model_copy(update=own | changes)


def tells(**changes: object) -> Script:
    return lambda: ScriptedConversation([frame_of(Known(facts=facts(**changes)))])


def busy(times: int) -> Script:
    """A host that is busy so often, and then tells."""
    left = iter(range(times))

    def answer() -> ScriptedConversation:
        if next(left, None) is not None:
            raise HostBusy("host: is busy: desk, pid 7")
        return tells()()

    return answer


def reached(notes: list[str], *, every: bool = False, **scripts: Script) -> ReachedFleet:
    fleet = dict.fromkeys(scripts, ScriptedTransport(scripts))
    return reach(fleet, RunOptions(), notes.append, every=every)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"version": "0.0.1"}, f"host b: has accelmatrix 0.0.1, the driver {runner.__version__}"),
        ({"sources": "another"}, "host b: has other sources of the runner than the driver"),
    ],
)
def test_a_host_that_measures_otherwise_is_left_out(changes: dict[str, str], note: str) -> None:
    notes = list[str]()
    assert reached(notes, a=tells(), b=tells(**changes)).facts.keys() == {"a"}
    assert notes == [f"{note}; it is left out"]


def test_a_busy_host_comes_later() -> None:
    fleet = reached(list[str](), a=tells(), b=busy(1))
    assert fleet.facts.keys() == fleet.presence.alive == {"a"}
    while not (returned := fleet.presence.returned()):
        time.sleep(0.01)
    assert returned["b"].facts == facts()


def test_of_hosts_that_are_all_busy_the_first_is_waited_for() -> None:
    notes = list[str]()
    fleet = reached(notes, a=busy(2), b=busy(9))
    assert fleet.facts.keys() == fleet.presence.alive == {"a"}
    assert notes[0].startswith("waiting for a, b: host: is busy")


def test_each_busy_host_is_waited_for_where_each_class_measures() -> None:
    assert reached([], every=True, a=tells(), b=busy(2)).facts.keys() == {"a", "b"}


def test_hosts_with_an_engine_are_asked_again_if_others_have_none() -> None:
    asked = list[str]()

    class Docker(ScriptedConversation):
        def send(self, frame: object) -> None:
            wanted = message_to_host(frame)  # type: ignore[arg-type]
            assert isinstance(wanted, FactsWanted)
            asked.append(wanted.launcher)
            launcher = "docker" if wanted.launcher == "auto" else wanted.launcher
            self.frames.append(frame_of(Known(facts=facts(launcher=launcher))))

    fleet = reached([], a=lambda: Docker([]), b=tells())
    assert fleet.launcher == "process"
    assert {host.launcher for host in fleet.facts.values()} == {"process"}
    assert asked == ["auto", "process"]


def test_images_that_differ_are_named() -> None:
    notes = list[str]()
    images = [{"cpu": f"sha256:{letter * 64}"} for letter in "ab"]
    reached(notes, a=tells(images=images[0]), b=tells(images=images[1]), c=tells(images={}))
    assert notes[0].startswith("hosts have different images of cpu")
    assert ": a; b;" in notes[0]


def test_without_any_answer_there_is_no_fleet() -> None:
    with raises_words(Unavailable, match="no host of the fleet answers: host a: has accel"):
        reached([], a=tells(version="0"))
