"""`python -m performance`: each measurement is a process, which ends with the one that waits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from performance.__main__ import MEASUREMENTS
from tests.conftest import ROOT

_MEASUREMENT = """
import subprocess, sys
bench = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(bench.pid, flush=True)
bench.wait()
"""
_MAIN = """
import signal, sys
from performance.__main__ import main
signal.signal(int(sys.argv.pop(1)), signal.default_int_handler)  # whatever starts this test ignores
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=(pytest.mark.slow, pytest.mark.nightly)),
    ],
)
def test_a_signal_ends_all_that_was_started(tmp_path: Path, number: signal.Signals) -> None:
    package = tmp_path / "performance"
    package.mkdir()
    (package / "__init__.py").write_text(f"__path__.append({str(ROOT / 'performance')!r})")
    (package / "start_up.py").write_text(_MEASUREMENT)
    (package / "plan_matrix.py").write_text("print('went on')")
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    with subprocess.Popen(
        [sys.executable, "-c", _MAIN, str(int(number)), "start_up", "plan_matrix"],
        env=os.environ | paths,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as main:
        assert main.stdout is not None
        bench = next(psutil.Process(int(line)) for line in main.stdout if line.strip().isdigit())
        main.send_signal(number)
        rest = main.stdout.read()
    assert main.returncode == 128 + number
    assert "went on" not in rest
    psutil.wait_procs([bench], timeout=10)
    assert not bench.is_running() or bench.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_each_measurement_is_a_program(name: str) -> None:
    places = (ROOT / "performance" / f"{name}.py", ROOT / "performance" / name / "__main__.py")
    assert any(place.is_file() for place in places)
