"""Fixtures shared by all tests."""

import gc
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest
from hypothesis import settings

from orchestrator.images.image import Image
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings
from orchestrator.system.engine import connect_engine
from runner.contract.axes import Backend
from runner.measure.phases import heap
from tests.support.databases import copy_blank
from tests.support.needs import lacking
from tests.support.prepared import PreparedGraphs
from tests.support.proxy import EngineProxy
from tests.support.registry import running_registry
from tests.support.serial import is_serial, scheduler
from tests.support.siblings import leave_to_the_night

ROOT = Path(__file__).parents[1]
FAST = "not slow and not engine and not nightly"
"""What `make test` selects."""

settings.register_profile("many", deadline=None)
settings.register_profile("few", deadline=None, max_examples=15)


def pytest_configure(config: pytest.Config) -> None:
    """Properties have few examples in the suites; by night they have many."""
    settings.load_profile("many" if "hypothesis" in config.getoption("markexpr") else "few")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Serial tests come first: they are the longest of what cannot be shared out."""
    leave_to_the_night(items)
    items.sort(key=lambda item: not is_serial(item.nodeid))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what a run of the fast suite left out, and what runs it."""
    if terminalreporter.config.getoption("markexpr") == FAST:
        terminalreporter.write_line(
            "Left out: tests marked `slow` (real models, exports, compilers, kills) or `engine`"
            " (containers). `make test-slow` runs them, `make test-all` everything."
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Share the suite between several workers."""
    return scheduler(config, log)


@pytest.fixture(autouse=True, scope="module")
def old_heap() -> None:
    """Leave what is alive out of later collections: measuring begins with one, and in a process
    that has imported every runtime each would take a third of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def thawed_heap() -> Iterator[None]:
    """Let Python clear up at its end: DuckDB's library prints what it then still finds alive."""
    heap.is_frozen = True
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def blank_databases() -> Iterator[None]:
    """New databases of this process are copies of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.store.database.open.write_blank", copy_blank)
        yield


@pytest.fixture(autouse=True, scope="session")
def thread_of_databases() -> Iterator[None]:
    """Databases of this process have one thread: its workers share the cores already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("duckdb.connect", partial(duckdb.connect, config={"threads": 1}))
        yield


@pytest.fixture(autouse=True, scope="session")
def quiet_machine() -> Iterator[None]:
    """Plans of this process are made as if nothing else ran here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.commands.measure.plan.others_load", lambda: 0.0)
        yield


@pytest.fixture(scope="session")
def shared_folder(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run of the suite, the same for all workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(pytestconfig, "workerinput") else own


@pytest.fixture(scope="session")
def engine() -> None:
    """A container engine answers. Without one: a failure in CI, a skip elsewhere."""
    answer = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    if answer.returncode:
        lacking(f"no container engine answers: {answer.stderr}")


@pytest.fixture(autouse=True, scope="session")
def own_state(shared_folder: Path) -> None:
    """The suite's memory of built images is apart from the user's."""
    os.environ["ACCELMATRIX_STATE"] = str(shared_folder / "state")


@pytest.fixture(scope="session")
def built_image(
    engine: None, own_state: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Backend], Image]:
    """Gives a backend's image, made of this checkout's present files."""
    settings = replace(ImageSettings.from_environment(), logs=tmp_path_factory.mktemp("builds"))
    return LocalImages(connect_engine(), settings).ensure


@pytest.fixture(scope="session")
def cpu_image(built_image: Callable[[Backend], Image]) -> Image:
    """The cpu image."""
    return built_image("cpu")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The prefix of images in a registry on loopback."""
    with running_registry(tmp_path_factory.mktemp("registry")) as prefix:
        yield prefix


@pytest.fixture
def proxy(tmp_path: Path, engine: None) -> Iterator[EngineProxy]:
    """A way to the real engine that can be cut."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with EngineProxy(tmp_path / "p.sock", address.removeprefix("unix://")) as proxy:
        yield proxy


@pytest.fixture(autouse=True, scope="session")
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The suite's device locks are apart from those of a run under way on this machine."""
    os.environ["ACCELMATRIX_LOCKS"] = str(tmp_path_factory.mktemp("locks"))


@pytest.fixture(scope="session")
def prepared(shared_folder: Path) -> PreparedGraphs:
    """Graphs of tiny models, shared by all tests: exporting one takes seconds."""
    return PreparedGraphs(shared_folder / "prepared-graphs")
