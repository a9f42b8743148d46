"""Python files of the current folder, such as a stranger's model brings, are never imported."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.backends.probes import ThisHost
from orchestrator.commands.setup.doctor_command import try_browsers
from orchestrator.exchange.bundles.foreign import open_database
from orchestrator.fleet.transport import HOST_MODULE
from orchestrator.store.store import Store
from runner.contract.errors import BenchError
from runner.modes.startup.launch import launch_start
from tests.runner.modes.startup.test_mode import a_request
from tests.support.workplace import Workplace

SHADOWED = (
    *("argparse", "ast", "copy", "enum", "json", "logging", "pathlib", "queue", "random", "re"),
    *("shutil", "signal", "socket", "subprocess", "tempfile", "threading", "token", "typing"),
    *("duckdb", "numpy", "orchestrator", "pydantic", "pyarrow", "runner", "torch"),
)
"""Modules and packages of Python, of libraries and of ours that the folder has as well."""
EXECUTED = "executed"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and `PYTHON*` variables by which a shell would name it too."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in SHADOWED:
        module = folder / name / "__init__.py" if len(name) % 2 else folder / f"{name}.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"open({str(folder / EXECUTED)!r}, 'a').write('{name}\\n')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def a_run(folder: Path) -> None:
    workplace = Workplace(folder, "process")
    workplace.write_matrix(batch_sizes=(1,))
    assert workplace.run().returncode == 0


def a_start(folder: Path) -> None:
    with launch_start(a_request()) as pending:
        pending.wait()


def a_probe(folder: Path) -> None:
    assert ThisHost().ask((sys.executable, "-P", "-c", "import random; print(1)")) == "1"


def a_database_of_others(folder: Path) -> None:
    path = folder / "theirs.duckdb"
    Store.open(path).close()
    with open_database(path):
        pass


def a_host_program(folder: Path) -> None:
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *HOST_MODULE]
    subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, check=False)


def a_trial_of_browsers(folder: Path) -> None:
    with suppress(BenchError):
        try_browsers()


STARTS: Mapping[str, Callable[[Path], None]] = {
    start.__name__: start
    for start in (a_run, a_start, a_probe, a_database_of_others, a_host_program)
}


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_no_program_that_we_start_imports_files_of_the_current_folder(
    folder: Path, start: str
) -> None:
    STARTS[start](folder)
    assert not (folder / EXECUTED).exists()


@pytest.mark.nightly
@pytest.mark.slow
def test_the_trial_of_browsers_imports_none_either(folder: Path) -> None:
    a_trial_of_browsers(folder)
    assert not (folder / EXECUTED).exists()


def test_a_python_that_is_started_otherwise_would_import_them(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", "import random"], check=False)
    assert (folder / EXECUTED).read_text() == "random\n"
