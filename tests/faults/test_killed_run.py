"""`kill -9` of the orchestrator at each moment of a run: resuming leaves one verdict per cell."""

import pytest

from tests.faults.place import FailingPlace
from tests.faults.table import table
from tests.support.failpoints import Failpoint, kill

pytestmark = pytest.mark.serial

CONTAINERS = "docker.api.container:ContainerApiMixin"
OBSERVER = "orchestrator.commands.program.progress:PlainObserver"
CONNECTION = "duckdb:DuckDBPyConnection"
LOCK = "filelock:BaseFileLock"
FAULTS = {"*scripted-1-*-b2-*": "die"}
"""One of six cells kills its runner, so that the host gives a verdict and launches again."""
DONE = (0, 1, 3)
"""The dying cell fails again; or each cell had a verdict already."""

MOMENTS = {
    "before the plan is written": kill("before", "os:replace", "*run.json"),
    "before the run's folder gets its name": kill("before", "os:rename", "*.half-made"),
    "once the device is locked": kill("after", f"{LOCK}.acquire", "*fake.lock"),
    "before a job is written": kill("before", "os:replace", "*/jobs/*"),
    "after a job is written": kill("after", "os:replace", "*/jobs/*"),
    "when loading began": kill("after", f"{OBSERVER}.phase_began", "load"),
    "when a cell's timing began": kill("after", f"{OBSERVER}.phase_began", "steady"),
    "after the first cell": kill("after", f"{OBSERVER}.cell_ended"),
    "after the fourth cell": kill("after", f"{OBSERVER}.cell_ended", nth=4),
    "before the log of a launch": kill("before", "os:replace", "*/logs/*"),
    "after the log of a launch": kill("after", "os:replace", "*/logs/*"),
    "before the verdict on a dead launch": kill("before", "os:replace", "*.parquet"),
    "after the verdict on a dead launch": kill("after", "os:replace", "*.parquet"),
    "before the last cells are launched": kill("before", "os:replace", "*/jobs/*", nth=3),
    "once the database is locked": kill("after", f"{LOCK}.acquire", "*.duckdb.lock", nth=2),
    "before the merge begins": kill("before", f"{CONNECTION}.begin", nth=2),
    "before the merge is committed": kill("before", f"{CONNECTION}.commit", nth=2),
    "after the merge is committed": kill("after", f"{CONNECTION}.commit", nth=2),
    "before the device is released": kill("before", f"{LOCK}.release", "*fake.lock"),
    "before the results are shown": kill(
        "before", "orchestrator.commands.measure.run:report_merged"
    ),
}
IN_CONTAINERS = {
    "before a container is created": kill("before", f"{CONTAINERS}.create_container"),
    "after a container is created": kill("after", f"{CONTAINERS}.create_container"),
    "after a container is attached to": kill("after", f"{CONTAINERS}.attach"),
    "before a container is started": kill("before", f"{CONTAINERS}.start"),
    "after a container is started": kill("after", f"{CONTAINERS}.start"),
    "before a container is waited for": kill("before", f"{CONTAINERS}.wait"),
    "after a container has ended": kill("after", f"{CONTAINERS}.wait"),
    "before a container is removed": kill("before", f"{CONTAINERS}.remove_container"),
    "after a container is removed": kill("after", f"{CONTAINERS}.remove_container"),
    "before the last container is removed": kill("before", f"{CONTAINERS}.remove_container", nth=3),
}
ROUNDS = {
    "after the first round's first cell": kill("after", f"{OBSERVER}.cell_visited"),
    "between two rounds": kill("before", "os:replace", "*/jobs/*", nth=2),
    "in the last round": kill("after", f"{OBSERVER}.cell_ended"),
}
TRACES = {
    "while a trace is written": kill("after", f"{OBSERVER}.cell_ended", nth=3),
    "when the traces are listed": kill("before", "orchestrator.commands.measure.run:failed_traces"),
}


@table(MOMENTS, "when a cell's timing began")
def test_a_killed_run_is_finished(place: FailingPlace, moment: Failpoint) -> None:
    place.write_matrix(FAULTS, models=2)
    place.kill_at(moment, *place.run_arguments())
    place.finish(*DONE)


@pytest.mark.engine
@table({**MOMENTS, **IN_CONTAINERS}, "after a container is started")
def test_a_killed_run_of_containers_is_finished(
    containers: FailingPlace, moment: Failpoint
) -> None:
    containers.write_matrix(FAULTS, models=2)
    containers.kill_at(moment, *containers.run_arguments())
    containers.finish(*DONE)


@table(ROUNDS, "between two rounds")
def test_a_run_killed_among_its_rounds_is_finished(place: FailingPlace, moment: Failpoint) -> None:
    place.write_matrix(rounds=2)
    place.kill_at(moment, *place.run_arguments())
    place.finish()
    assert {row["rounds"] for row in place.ask("SELECT rounds FROM benchmark_results")} == {2}


@table(TRACES)
def test_a_run_killed_while_tracing_is_finished(place: FailingPlace, moment: Failpoint) -> None:
    place.write_matrix({"trace": "hang"} if moment.nth == 3 else {})
    place.kill_at(moment, *place.run_arguments("--trace"))
    place.finish(3)
