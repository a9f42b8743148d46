"""`python -m performance synthesise`, and where its rows may go."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.store import MergeReport, Store
from performance.synthesise import main
from runner.contract.errors import StoreError

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


@pytest.mark.slow
def test_synthetic_results_go_into_a_scratch_database_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert main(["--rows", "600", "--output", str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert (summary["rows"], len(summary["files"])) == (600, 1)
    assert printed.err == "600 of 600 results written\n"
    with Store.open(tmp_path / "real.duckdb") as real:
        refused = real.merge([folder])
        assert (len(refused.refused), real.runs()) == (600, [])
    with pytest.raises(StoreError, match=r"refused 600 rows that no device made"):
        refused.require_complete()
    with Store.open(tmp_path / "scratch.duckdb", scratch=True) as scratch:
        assert scratch.merge([folder]) == MergeReport(inserted=600)
        assert len(scratch.runs()) == 2


def test_the_command_to_merge_them_is_told_and_wrong_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert main(["--rows", "10", "--output", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"10 synthetic results in {folder}: ")
    scratch = folder / "scratch.duckdb"
    assert f"`orchestrator merge {folder} --scratch --database {scratch}`" in printed
    with pytest.raises(SystemExit) as ended:
        main(["--rows", "0", "--output", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert main(["--rows", "1", "--output", str(tmp_path)]) == 6
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_leaves_whole_files_alone(tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = [sys.executable, "-m", "performance", "synthesise"]
    command += ["--rows", "100000000", "--output", str(made)]
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs ignore Ctrl-C, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    deadline = time.monotonic() + PATIENCE_S
    while not list(made.glob("*.tmp")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert list(made.glob("*.tmp")) == []
