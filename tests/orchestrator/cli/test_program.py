import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner import __version__
from tests.support.command_line import complains, files
from tests.support.workplace import Workplace

COMMANDS = ("run", "bench", "replay", "plan", "status", "query", "merge", "doctor", "schema")
GROUPS = ("images", "models")
HEAVY = {"pydantic", "docker", "duckdb", "pyarrow", "rich", "yaml", "filelock", "psutil"}
LOADED = """
import sys
sys.argv = ["orchestrator", *sys.argv[1:]]
from orchestrator.cli import main
try:
    main()
finally:
    names = {name.partition(".")[0] for name in sys.modules}
    print("loaded:", *sorted(names), file=sys.stderr)
"""


def test_the_version_is_told(place: Workplace) -> None:
    done = place.do("--version")
    assert (done.returncode, done.stdout) == (0, f"orchestrator {__version__}\n")


def test_help_lists_exit_codes_and_every_command_with_a_short_sentence(place: Workplace) -> None:
    done = place.do("--help")
    assert done.returncode == 0
    assert "3 nothing to do" in done.stdout.replace("\n  ", " ")
    listed = done.stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    sentences = dict(line.split(maxsplit=1) for line in listed)
    assert {*COMMANDS, *GROUPS} <= set(sentences)
    assert [text for text in sentences.values() if len(text) > 60 or not text.endswith(".")] == []
    assert [text for text in sentences.values() if text.endswith("...")] == []


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPS])
def test_every_command_explains_itself(place: Workplace, command: str) -> None:
    done = place.do(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"orchestrator {command}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["run", "--help"], {"pydantic"}),  # typer itself looks at values with it
    ],
    ids=["help", "version", "help of a command"],
)
def test_help_loads_nothing_heavy(
    place: Workplace, arguments: list[str], allowed: set[str]
) -> None:
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.rpartition("loaded:")[2].split())
    assert "typer" in loaded
    assert loaded & HEAVY <= allowed


UNKNOWN_FORMAT = "Invalid value for '--format': 'xml' is not one of"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["nonsense"],
        ["run", "--nonsense"],
        ["run", "matrix.yaml", "--limit", "0"],
        ["run", "matrix.yaml", "--launcher", "cloud"],
        ["run", "matrix.yaml", "--budget", "soon"],
        ["run", "matrix.yaml", "--budget", ""],
        ["run"],
        ["bench", "--iterations", "none"],
        ["plan", "matrix.yaml", "--format", "xml"],
        ["merge"],
        ["query"],
        ["query", "SELECT 1", "--format", "xml"],
        ["replay"],
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_refused_before_anything_happens(
    place: Workplace, arguments: list[str]
) -> None:
    before = files(place.folder)
    done = place.do(*arguments)
    complains(done, 2, "Error: ", UNKNOWN_FORMAT if "xml" in arguments else "")
    assert "Value error" not in done.stderr
    assert files(place.folder) == before


def test_debug_shows_where_an_error_came_from(place: Workplace) -> None:
    plain = place.do("run", "nowhere.yaml")
    complains(plain, 2, "error: nowhere.yaml")
    debugged = place.do("--debug", "run", "nowhere.yaml")
    assert debugged.returncode == 2
    assert debugged.stderr.startswith("Traceback")
    assert debugged.stderr.endswith(plain.stderr)
    assert place.do("--quiet", "run", "nowhere.yaml").stderr == plain.stderr


def test_a_reader_that_has_had_enough_is_no_bug(place: Workplace) -> None:
    place.write_matrix(batch_sizes=range(1, 2000))
    process = place.start("plan", "matrix.yaml")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 128 + signal.SIGPIPE


def test_shells_can_complete_commands(place: Workplace) -> None:
    console_script = Path(sys.executable).with_name("orchestrator")
    environment = {"COMP_WORDS": "orchestrator mo", "COMP_CWORD": "1"}
    done = subprocess.run(
        [console_script],
        env={**os.environ, **environment, "_ORCHESTRATOR_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["models"])
