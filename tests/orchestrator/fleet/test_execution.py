"""The driver: what hosts do and fail to do, and one verdict for each cell."""

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue

import pytest

from orchestrator.commands.measure.fleet.progress import NamingObserver
from orchestrator.fleet.execution import FleetExecution, FleetWork
from orchestrator.fleet.host import Hardware, HostFacts
from orchestrator.fleet.messages import (
    Declined,
    Ended,
    Frame,
    Launched,
    Left,
    Noted,
    Order,
    Recorded,
    Refused,
    Visited,
    frame_of,
    hear_nothing,
    message_to_host,
)
from orchestrator.fleet.orders import UnitWork
from orchestrator.fleet.presence import Presence, Reach
from orchestrator.fleet.transport import FleetHost, HostBusy, Transport, TransportName
from orchestrator.fleet.units import place
from orchestrator.planning.plan import side_by_side
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile
from orchestrator.store.store import Store
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    DamagedFile,
    EngineUnavailable,
    ImageError,
    Unavailable,
)
from runner.contract.job import Job
from runner.contract.record.files import to_table, write_one_row
from tests.support.fakes import KeptObserver
from tests.support.fleet import soon
from tests.support.jobs import a_spread, fake_cell
from tests.support.records import record_for
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder
from tests.support.words import words_of

pytestmark = pytest.mark.usefixtures("unmerged")

Host = Callable[[Order, RunFile], Iterator[Frame]]
"""What a host says to an order."""
FACTS = HostFacts(
    hostname="vm",
    hardware=Hardware(cpu_model="a CPU", cpu_cores_logical=2, memory_total_bytes=8 << 30),
    launcher="process",
    version="0",
    python="3.11",
)


class FleetKeptObserver(KeptObserver):
    def on_host(self, host: str) -> Observer:
        return NamingObserver(self, host)

    def order_ended(self, host: str, fault: str | None) -> None:
        """Nothing is shown."""


def content_of(job: Job, cell: Cell, **columns: object) -> bytes:
    file = io.BytesIO()
    write_one_row(to_table([record_for(job, cell, **columns)]), file)
    return file.getvalue()


def the_job(run: RunFile) -> Job:
    return run.job([entry.cell for entry in run.plan.entries], SOMEWHERE)


def measures(order: Order, run: RunFile, cells: int = 100) -> Iterator[Frame]:
    """The beginning of what a good host says: its launch, and the first cells' records."""
    job = the_job(run)
    yield frame_of(Launched(job=job))
    yield frame_of(Visited(cell_id=job.cells[0].id))
    for cell in job.cells[:cells]:
        yield frame_of(Recorded(cell_id=cell.id), content_of(job, cell))


def good(order: Order, run: RunFile) -> Iterator[Frame]:
    yield from measures(order, run)
    yield frame_of(Left(path=("logs", f"{the_job(run).id}.1.log")), b"a warning")
    yield frame_of(Ended())


def calibrated(order: Order, run: RunFile) -> Iterator[Frame]:
    """A good host whose processes differ by less than the driver's."""
    spreads = dict.fromkeys(run.process_spreads, a_spread(0.01))
    yield from good(order, run.model_copy(update={"process_spreads": spreads}))


def dies(order: Order, run: RunFile) -> Iterator[Frame]:
    """One record, and then nothing any more."""
    yield from measures(order, run, cells=1)


def hears_nothing(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(Noted(text="a library says hello"))
    raise DamagedFile("no frame: 'Last login: …'")


def refuses(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(Refused(reason="the disk is full", hint="free some space"))


def another_run(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(Launched(job=the_job(run).model_copy(update={"run_id": "stranger"})))


def another_cell(order: Order, run: RunFile) -> Iterator[Frame]:
    job = the_job(run)
    yield frame_of(Launched(job=job))
    yield frame_of(Recorded(cell_id="cpu-stranger"), content_of(job, job.cells[0]))


def a_false_record(order: Order, run: RunFile) -> Iterator[Frame]:
    job = the_job(run)
    yield frame_of(Launched(job=job))
    yield frame_of(Recorded(cell_id=job.cells[0].id), content_of(job, job.cells[1]))


def a_file_elsewhere(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(Left(path=("jobs", "x.json")), b"{}")


def ends_early(order: Order, run: RunFile) -> Iterator[Frame]:
    yield from measures(order, run, cells=2)
    yield frame_of(Ended())


def lacks_its_engine(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(lack("fake", EngineUnavailable("no engine answers")))
    yield frame_of(Ended())


def lacks_its_image(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(lack("fake", ImageError("the build failed")))
    yield frame_of(Ended())


def lack(backend: Backend, error: BenchError) -> Declined:
    return Declined(backend=backend, reason=str(error), exit_code=error.exit_code)


def refuses_the_rest(order: Order, run: RunFile) -> Iterator[Frame]:
    yield from measures(order, run, cells=1)
    yield from refuses(order, run)


def another_seed(order: Order, run: RunFile) -> Iterator[Frame]:
    yield frame_of(Launched(job=the_job(run).model_copy(update={"seed": 77})))


def sends_twice(order: Order, run: RunFile) -> Iterator[Frame]:
    yield from measures(order, run)
    yield from measures(order, run)
    yield frame_of(Ended())


def cannot_run(order: Order, run: RunFile) -> Iterator[Frame]:
    """Verdicts of the host's own, without a launch."""
    for cell in the_job(run).cells:
        own = run.job([cell], SOMEWHERE)
        text = content_of(own, cell, status="unavailable", reason="no engine", phase="plan")
        yield frame_of(Recorded(cell_id=cell.id, job=own), text)
    yield frame_of(Ended())


@dataclass
class Scripted:
    """Hosts that play a script for each order they get, the last one for all later ones."""

    scripts: dict[str, list[Host]]
    name: TransportName = "ssh"
    orders: list[tuple[str, list[str]]] = field(default_factory=list)
    unreachable: set[str] = field(default_factory=set)
    busy: dict[str, int] = field(default_factory=dict)
    """Times that each host is found busy."""
    stuck: threading.Event = field(default_factory=threading.Event)
    """Set once a host called `stuck` may begin."""

    def hosts(self) -> list[FleetHost]:
        return [FleetHost(name, self.name) for name in self.scripts]

    def begin(self, host: str) -> "ScriptedConversation":
        if host in self.unreachable:
            raise Unavailable(f"{host}: no route")
        if self.busy.get(host):
            self.busy[host] -= 1
            raise HostBusy(f"{host}: another driver has it")
        if host == "stuck":
            self.stuck.wait(60)
        return ScriptedConversation(self, host)

    def play(self, host: str, order: Order, run: RunFile) -> Iterator[Frame]:
        """What the host says to this order."""
        self.orders.append((host, [entry.cell.id for entry in run.plan.entries]))
        scripts = self.scripts[host]
        return (scripts.pop(0) if scripts[1:] else scripts[0])(order, run)

    def close(self) -> None: ...


class ScriptedConversation:
    """Goes on with the next order behind `Ended`, and is over at any other end of a script."""

    def __init__(self, fleet: Scripted, host: str) -> None:
        self._fleet, self._host = fleet, host
        self._orders: Queue[Frame | None] = Queue()
        self._frames: Iterator[Frame] | None = None

    def send(self, frame: Frame) -> None:
        if isinstance(message_to_host(frame), Order):
            self._orders.put(frame)

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        if self._frames is None:
            ordered = self._orders.get()
            if ordered is None:
                return None
            order, run = message_to_host(ordered), RunFile.model_validate_json(ordered.body)
            assert isinstance(order, Order)
            self._frames = self._fleet.play(self._host, order, run)
        frame = next(self._frames, None)
        if frame == frame_of(Ended()):
            self._frames = None
        return frame

    def end(self) -> None:
        self._orders.put(None)


@dataclass
class Driven:
    folder: RunFolder
    fleet: Scripted
    observer: FleetKeptObserver
    code: int

    @property
    def verdicts(self) -> set[str]:
        return set(self.folder.verdicts().values())

    @property
    def notes(self) -> str:
        return "\n".join(self.observer.notes)


def knows(transport: Transport, host: str) -> HostFacts:
    return FACTS


def hurried() -> float:
    """A clock by which ten seconds take a twentieth of one."""
    return time.monotonic() * 200


def drive(results: Path, *, options: RunOptions | None = None, **scripts: list[Host]) -> Driven:
    return drive_fleet(results, Scripted(scripts), options)


def drive_fleet(results: Path, fleet: Scripted, options: RunOptions | None = None) -> Driven:
    return drive_folder(a_run_folder(results, a_plan()), fleet, options)


def drive_folder(folder: RunFolder, fleet: Scripted, options: RunOptions | None = None) -> Driven:
    observer = FleetKeptObserver()
    hosts = {name: Reach(fleet, FACTS) for name in fleet.scripts}
    placed = place(folder.run.plan, dict.fromkeys(hosts, FACTS))
    left = {cell.id for cell in folder.unfinished()}
    units = [
        UnitWork(one.unit, folder, tuple(cell for cell in one.cells if cell.id in left))
        for one in placed.units
    ]
    work, presence = FleetWork([folder], units), Presence(hosts, {}, knows, clock=hurried)
    execution = FleetExecution(work, presence, observer, options or RunOptions(scratch=True))
    (outcome,) = execution.run()
    return Driven(folder, fleet, observer, outcome.exit_code)


@pytest.mark.usefixtures("database")
def test_records_arrive_in_the_run_and_in_the_database(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    with Store.open_readonly(done.folder.database) as store:
        assert dict(store.verdicts(done.folder.run.run_id)) == dict(done.folder.verdicts())
    (log,) = (done.folder.path / "logs").iterdir()
    assert log.read_bytes() == b"a warning"
    assert done.fleet.orders == [("a", [cell.id for cell in done.folder.cells])]


@pytest.mark.parametrize("host", [calibrated, good])
def test_a_calibration_is_each_hosts_own(tmp_path: Path, host: Host) -> None:
    folder = a_run_folder(tmp_path, a_plan())
    spreads = {f"fake/fake/{'0' * 16}": a_spread(0.02)}
    folder.run = folder.run.model_copy(update={"process_spreads": spreads})
    done = drive_folder(folder, Scripted({"a": [host]}))
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert done.notes == ""


def test_what_a_dead_host_has_left_is_measured_on_another(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[dies], b=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    cells = [cell.id for cell in done.folder.cells]
    assert done.fleet.orders == [("a", cells), ("b", cells[1:])]
    assert "a: lost with 2 cells to do: the connection ended" in done.notes


def measures_jobs(order: Order, run: RunFile, jobs: int = 100) -> Iterator[Frame]:
    """A host with the records of the first jobs, each of one cell."""
    for entry in run.plan.entries[:jobs]:
        job = run.job([entry.cell], SOMEWHERE, 3)
        yield frame_of(Launched(job=job))
        yield frame_of(Recorded(cell_id=entry.cell.id), content_of(job, entry.cell))
    if jobs >= len(run.plan.entries):
        yield frame_of(Ended())


def dies_within_a_group(order: Order, run: RunFile) -> Iterator[Frame]:
    yield from measures_jobs(order, run, jobs=1)


def test_what_was_measured_beside_a_dead_hosts_rest_is_measured_again(tmp_path: Path) -> None:
    cells = [fake_cell(1, threads=threads) for threads in (1, 2)]
    plan = side_by_side(a_plan([*cells, fake_cell(8)]), [(cells, None)])
    folder = a_run_folder(tmp_path, plan)
    done = drive_folder(folder, Scripted({"a": [dies_within_a_group], "b": [measures_jobs]}))
    ids = [cell.id for cell in folder.cells]
    assert [(host, sorted(left)) for host, left in done.fleet.orders] == [
        ("a", sorted(ids)),
        ("b", sorted(ids)),
    ]
    assert (done.code, done.verdicts) == (0, {"ok"})


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (hears_nothing, "no frame: 'Last login"),
        (another_run, "another launch than was ordered"),
        (another_seed, "another launch than was ordered"),
        (another_cell, "a cell that nobody ordered: 'cpu-stranger'"),
        (a_false_record, "is not the record that was asked for"),
        (a_file_elsewhere, "a file that nobody asked for: jobs/x.json"),
        (ends_early, "it ended without a verdict of each cell"),
    ],
)
def test_a_host_that_errs_is_not_believed(tmp_path: Path, host: Host, reason: str) -> None:
    done = drive(tmp_path, a=[host], b=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert "a: lost with" in done.notes
    assert reason in done.notes
    assert [name for name, _ in done.fleet.orders] == ["a", "b"]


def test_cells_that_three_hosts_lost_are_lost(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[dies], b=[hears_nothing], c=[hears_nothing], d=[good])
    assert [name for name, _ in done.fleet.orders] == ["a", "b", "c"]
    verdicts = list(done.folder.verdicts().values())
    assert (sorted(verdicts), done.code) == (["lost", "lost", "ok"], 1)


def test_a_host_that_refuses_gets_no_more_and_another_measures(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[refuses], b=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert "a: the disk is full; free some space" in done.notes


def test_what_was_measured_before_a_refusal_is_not_measured_again(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[refuses_the_rest], b=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert [len(cells) for _, cells in done.fleet.orders] == [3, 2]


def test_what_a_host_turns_out_to_lack_is_measured_elsewhere(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[lacks_its_engine], b=[good])
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert "a: no engine answers" in done.notes


@pytest.mark.parametrize(("host", "code"), [(lacks_its_engine, 4), (lacks_its_image, 5)])
def test_what_every_host_lacks_decides_the_exit_code(tmp_path: Path, host: Host, code: int) -> None:
    done = drive(tmp_path, a=[host], b=[host])
    assert (done.code, done.verdicts) == (code, {"unavailable"})
    (reason, *_) = [words_of(record.ending) for record in done.folder.sound_records().values()]
    assert "b cannot do it: " in str(reason)


def test_a_busy_host_is_waited_for(tmp_path: Path) -> None:
    done = drive_fleet(tmp_path, Scripted({"a": [good]}, busy={"a": 1}))
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert done.notes.count("another driver has it") == 1


def test_a_host_that_is_slow_to_begin_keeps_nobody_waiting(tmp_path: Path) -> None:
    cells = [fake_cell(1), fake_cell(1).model_copy(update={"model": "another"})]
    fleet = Scripted({"b": [good], "stuck": [good]})

    def frees(order: Order, run: RunFile) -> Iterator[Frame]:
        yield from measures(order, run)
        fleet.stuck.set()
        yield frame_of(Ended())

    fleet.scripts["b"] = [frees]
    done = drive_folder(a_run_folder(tmp_path, a_plan(cells)), fleet)
    assert (done.code, done.verdicts) == (0, {"ok"})
    assert [name for name, _ in fleet.orders] == ["b", "stuck"]


def test_a_retried_launch_leaves_the_log_of_the_first(tmp_path: Path) -> None:
    def log(text: bytes) -> Host:
        def says(order: Order, run: RunFile) -> Iterator[Frame]:
            job = the_job(run)
            yield frame_of(Left(path=("logs", f"{job.id}.1.log")), text)
            if text == b"first":
                return
            yield from good(order, run)

        return says

    done = drive(tmp_path, a=[log(b"first")], b=[log(b"second")])
    logs = sorted((done.folder.path / "logs").iterdir())
    assert [path.read_bytes() for path in logs] == [b"first", b"second", b"a warning"]


def test_without_any_host_left_every_cell_is_unavailable(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[refuses], b=[refuses])
    assert (done.code, done.verdicts) == (3, {"unavailable"})


def test_a_host_that_cannot_be_reached_is_left_out(tmp_path: Path) -> None:
    fleet = Scripted({"a": [good], "b": [good]}, unreachable={"a"})
    done = drive_fleet(tmp_path, fleet)
    assert (done.code, [name for name, _ in fleet.orders]) == (0, ["b"])


def test_no_record_counts_twice(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[sends_twice])
    assert (done.code, len(done.folder.verdicts())) == (0, 3)


def test_verdicts_of_a_hosts_own_count(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[cannot_run])
    assert done.verdicts == {"unavailable"}
    reasons = {words_of(record.ending) for record in done.folder.sound_records().values()}
    assert reasons == {"no engine"}


def test_a_run_that_was_left_is_finished_with_what_is_missing(tmp_path: Path) -> None:
    done = drive(tmp_path, a=[dies])
    assert sorted(done.folder.verdicts().values()) == ["lost", "lost", "ok"]
    again = RunFolder.open(tmp_path, done.folder.run.run_id)
    finished = drive_folder(again, Scripted({"b": [good]}))
    assert (finished.code, finished.verdicts) == (0, {"ok"})
    assert [len(cells) for _, cells in finished.fleet.orders] == [2]


def test_cells_that_no_host_there_can_measure_have_a_verdict(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan())
    lacking = FACTS.model_copy(update={"unavailable": {"fake": "no such device"}})
    placed = place(folder.run.plan, {"a": lacking})
    work = FleetWork([folder], [], {folder.run.run_id: placed.plan})
    presence = Presence({"a": Reach(Scripted({"a": [good]}), lacking)}, {}, knows)
    FleetExecution(work, presence, FleetKeptObserver(), RunOptions(scratch=True)).run()
    reasons = {words_of(record.ending) for record in folder.sound_records().values()}
    assert reasons == {"no host of the fleet can measure it: no such device"}


def test_a_spent_budget_begins_nothing(tmp_path: Path) -> None:
    done = drive(tmp_path, options=RunOptions(scratch=True, budget_s=0), a=[good])
    reasons = {words_of(record.ending) for record in done.folder.sound_records().values()}
    assert reasons == {"the budget of 0s was spent"}
    assert done.fleet.orders == []


@pytest.fixture
def heard_ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard even by a job in a shell's background, whose shell ignores it for it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("heard_ctrl_c")
def test_ctrl_c_ends_the_hosts_and_keeps_what_arrived(tmp_path: Path) -> None:
    def interrupted(order: Order, run: RunFile) -> Iterator[Frame]:
        yield from measures(order, run, cells=1)
        assert soon(lambda: any(tmp_path.glob("run-1/records/*/*.parquet")))
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(1)

    with pytest.raises(KeyboardInterrupt):
        drive(tmp_path, a=[interrupted])
    assert list(RunFolder.open(tmp_path, "run-1").verdicts().values()) == ["ok"]


def test_hosts_of_other_hardware_do_not_take_what_was_lost(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_plan([fake_cell(1)]))
    hardware = FACTS.hardware.model_copy(update={"cpu_model": "another"})
    other = FACTS.model_copy(update={"hardware": hardware})
    fleet = Scripted({"a": [hears_nothing], "b": [good]})
    facts = {"a": FACTS, "b": other}
    placed = place(folder.run.plan, facts)
    units = [UnitWork(replace(one.unit, id="u"), folder, one.cells) for one in placed.units]
    hosts = {name: Reach(fleet, facts[name]) for name in facts}
    observer = FleetKeptObserver()
    work, presence = FleetWork([folder], units), Presence(hosts, {}, knows)
    FleetExecution(work, presence, observer, RunOptions(scratch=True)).run()
    (record,) = folder.sound_records().values()
    assert record.status == "lost"
    assert "no other host of the class is there" in str(words_of(record.ending))
