"""Wherever stdout and stderr lead, a command ends as its documentation says."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.support.siblings import siblings
from tests.support.workplace import CLI, PATIENCE_S, Workplace

FULL = Path("/dev/full")
ROWS = "SELECT cell_id, i FROM benchmark_results, range(10000) AS t(i)"


def ended(
    place: Workplace, redirection: str, *command: str, unbuffered: str = ""
) -> "subprocess.CompletedProcess[bytes]":
    """The command in a shell that leads its streams elsewhere."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *CLI, *command],
        cwd=place.folder,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        check=False,
    )


@pytest.mark.representatives(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        (["query", ROWS, "--format", "table"], ""),
        (["--help"], ""),
        (["query", "SELECT 1", "--format", "json"], "1"),
        (["--version"], "1"),
    ],
    ids=str,
)
def test_a_full_disk_behind_stdout_is_one_clear_error(
    measured: Workplace, command: list[str], unbuffered: str
) -> None:
    done = ended(measured, f"> {FULL}", *command, unbuffered=unbuffered)
    assert done.stderr.decode().splitlines() == [
        "error: stdout: cannot be written: No space left on device",
        "hint: free some space on its disk; what was printed is not whole",
    ]
    assert done.returncode == 6


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"), [(["query", "SELECT nothing"], 2), (["status", "nobody"], 2)]
)
def test_a_full_disk_behind_stderr_changes_nothing(
    measured: Workplace, command: list[str], code: int
) -> None:
    done = ended(measured, f"2> {FULL}", *command)
    assert (done.returncode, done.stdout) == (code, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirection",
    siblings(
        ["2>&1 | head -n 1 >/dev/null", f"2> {FULL}", "<&- >&- 2>&-"],
        keep=["2>&1 | head -n 1 >/dev/null"],
    ),
)
def test_progress_that_cannot_be_shown_ends_no_run(place: Workplace, redirection: str) -> None:
    place.write_matrix({"*-b2-*": "raise"})
    place.write_database()
    shell = f'{{ "$@"; echo $? > code; }} {redirection}'
    subprocess.run(
        ["sh", "-c", shell, "sh", *CLI, *place.run_arguments()], cwd=place.folder, check=False
    )
    assert (place.folder / "code").read_text() == "1\n"
    assert place.has_one_verdict_each()


@pytest.mark.slow
def test_a_terminal_that_goes_away_ends_no_run(place: Workplace) -> None:
    place.write_database()
    ours, theirs = pty.openpty()
    command = [*CLI, *place.run_arguments()]
    with subprocess.Popen(
        command, cwd=place.folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        assert os.read(ours, 1)
        os.close(ours)
        assert process.wait(PATIENCE_S) == 0
    assert place.has_one_verdict_each()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "parquet"])
def test_a_closed_stdout_is_where_nothing_goes(measured: Workplace, form: str) -> None:
    done = ended(measured, ">&-", "query", "SELECT 1", "--format", form)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_closed_streams_leave_the_exit_code(measured: Workplace) -> None:
    assert ended(measured, ">&- 2>&-", "query", "SELECT nothing").returncode == 2
    assert ended(measured, ">&- 2>&-", "status").returncode == 0


def test_what_others_wrote_does_not_steer_the_terminal(measured: Workplace) -> None:
    done = measured.do("query", "SELECT chr(27) || '[2J' AS \"a\nb\"")
    assert done.stdout == "a\\nb\n\\u001b[2J\n"
    done = measured.do("query", "SELECT '\x1b[2Jx'::INTEGER")
    assert "\x1b" not in done.stderr
    assert "\\u001b[2Jx" in done.stderr
    done = measured.do("query", "SELECT chr(27) AS a", "--format", "csv")
    assert done.stdout == "a\n\x1b\n"
