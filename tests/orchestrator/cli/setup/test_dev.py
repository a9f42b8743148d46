"""`orchestrator dev synthesise`, and where its rows may go."""

import json
import signal
import subprocess
import time

import pytest

from orchestrator.store import Store
from tests.support.cli_checks import complains
from tests.support.workplace import CLI, PATIENCE_S, Workplace


@pytest.mark.slow
def test_synthetic_results_go_into_a_scratch_database_alone(place: Workplace) -> None:
    done = place.do("dev", "synthesise", "--rows", "600", "--output", "made", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["rows"], len(told["files"])) == (0, 600, 1)
    assert "600 of 600 results written" in done.stderr
    refused = place.do("merge", "made")
    assert refused.returncode == 6
    assert "refused 600 rows" in refused.stderr
    assert "synthetic" in refused.stderr
    merged = place.do("merge", "made", "--scratch", "--database", "scratch.duckdb")
    assert merged.stdout == "600 inserted, 0 replaced, 0 unchanged\n"
    real = Store.open_readonly(place.folder / "results" / "benchmarks.duckdb")
    with real, Store.open_readonly(place.folder / "scratch.duckdb") as scratch:
        assert (len(real.runs()), len(scratch.runs())) == (0, 2)


@pytest.mark.slow
def test_what_it_says_can_be_done(place: Workplace) -> None:
    done = place.do("--quiet", "dev", "synthesise", "--rows", "10", "--output", "made")
    assert done.stderr == ""
    assert done.stdout.startswith("10 synthetic results in made: ")
    command = done.stdout.rpartition("`orchestrator ")[2].rstrip("`\n").split()
    assert place.do(*command).stdout == "10 inserted, 0 replaced, 0 unchanged\n"


def test_wrong_options_are_refused(place: Workplace) -> None:
    complains(place.do("dev", "synthesise", "--rows", "0", "--output", "made"), 2, "--rows")
    (place.folder / "full").mkdir()
    (place.folder / "full" / "mine.txt").touch()
    complains(place.do("dev", "synthesise", "--rows", "1", "--output", "full"), 6, "is not empty")


@pytest.mark.slow
def test_ctrl_c_leaves_whole_files_alone(place: Workplace) -> None:
    command = [*CLI, "dev", "synthesise", "--rows", "100000000", "--output", "made"]
    running = subprocess.Popen(command, cwd=place.folder, stderr=subprocess.PIPE, text=True)
    _wait_for_a_file(place)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert list((place.folder / "made").glob("*.tmp")) == []


def _wait_for_a_file(place: Workplace) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not list(place.folder.glob("made/*.tmp")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
