"""`query` and `merge` as a user types them."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import CLI, Workplace, wait_until

ANSWERS: dict[str, Callable[[str], Any]] = {
    "csv": lambda text: [line.split(",") for line in text.splitlines()[1:]],
    "json": lambda text: [[str(value) for value in row.values()] for row in json.loads(text)],
    "table": lambda text: [line.split() for line in text.splitlines()[1:]],
    "markdown": lambda text: [line.split()[1::2] for line in text.splitlines()[2:]],
}
ROWS = [["1", "ok"], ["2", "failed"], ["4", "ok"]]
SQL = "SELECT batch_size, status FROM benchmark_results ORDER BY batch_size"
ENDLESS = "SELECT i FROM range(1000000000000) AS t(i)"
SILENT = f"{ENDLESS} WHERE hash(i) = 5"


@pytest.mark.parametrize("form", ANSWERS)
def test_a_query_answers_in_every_format(measured: Workplace, form: str) -> None:
    done = measured.do("query", SQL, "--format", form, *["--json"][: form == "json"])
    assert ANSWERS[form](done.stdout) == ROWS


@pytest.mark.slow
def test_a_terminal_is_spared_bytes(measured: Workplace) -> None:
    ours, theirs = pty.openpty()
    command = [*CLI, "query", SQL, "--format", "parquet"]
    done = subprocess.run(
        command, cwd=measured.folder, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert "a terminal" in done.stderr
    assert "--output" in done.stderr


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_answer_goes_to_a_file(measured: Workplace, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert measured.do("query", SQL, "--output", str(path)).stdout == ""
    content = path.read_bytes()
    assert b"failed" in content
    complains(measured.do("query", SQL, "--output", str(path)), 2, "exists already", "--force")
    assert measured.do("query", SQL, "--output", str(path), "--force").returncode == 0
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--output", "a.txt"],
            ["a.txt: '.txt' says no format", ".csv, .json", "--format csv|json|markdown|parquet"],
        ),
        (["--output", "a.csv", "--format", "table"], ["tables are for the screen"]),
        (["--json", "--format", "csv"], ["--json and --format csv contradict each other"]),
    ],
)
def test_formats_that_contradict_the_output_are_refused(
    measured: Workplace, options: list[str], words: list[str]
) -> None:
    before = files(measured.folder)
    complains(measured.do("query", SQL, *options), 2, *words)
    assert files(measured.folder) == before


def has_open(process: "subprocess.Popen[str]", name: str) -> bool:
    """True if the process has a file of this name open."""
    with suppress(FileNotFoundError):  # a file was closed meanwhile
        opened = Path(f"/proc/{process.pid}/fd").iterdir()
        return any(path.readlink().name == name for path in opened)
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "output", "seen"),
    [(SILENT, None, "benchmarks.duckdb"), (ENDLESS, "a.parquet", ".a.parquet.tmp")],
    ids=["silent", "growing-file"],
)
def test_a_query_that_is_interrupted_leaves_nothing(
    measured: Workplace, tmp_path: Path, sql: str, output: str | None, seen: str
) -> None:
    options = ["--output", str(tmp_path / output)] if output else ["--format", "csv"]
    process = measured.start("query", sql, *options)
    wait_until(lambda: has_open(process, seen), "the query")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert stdout in {"", "i\n"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_reader_that_has_had_enough_is_no_error(measured: Workplace) -> None:
    command = [*CLI, "query", ENDLESS, "--format", "csv"]
    with subprocess.Popen(
        command, cwd=measured.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(3)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT nothing FROM benchmark_results", "nothing"),
        ("SELEC 1", "SELEC"),
        ("DROP TABLE benchmark_results", "only SELECT-like statements are allowed here, not DROP"),
    ],
)
def test_a_query_that_cannot_be_answered(measured: Workplace, sql: str, word: str) -> None:
    complains(measured.do("query", sql), 2, "the query failed", word)


def test_merge_tells_what_it_did(measured: Workplace, tmp_path: Path) -> None:
    database = str(tmp_path / "other.duckdb")
    merge = ["merge", "results", "--scratch", "--database", database]
    assert measured.do(*merge).stdout.splitlines() == [
        "3 inserted, 0 replaced, 0 unchanged",
        f"3 records from {gethostname()} into {database}",
        "next:",
        f"  orchestrator query latest_results --database {database}",
    ]
    assert json.loads(measured.do(*merge, "--json").stdout)["unchanged"] == 3
    complains(measured.do("merge", "nowhere"), 2, "nowhere: no such file or folder")


@pytest.mark.slow
def test_a_question_that_hears_no_interruption_is_given_up(measured: Workplace) -> None:
    deaf = "SELECT levenshtein(repeat('ab', 400000), repeat('ba', 400000))"
    done = measured.execute("query", deaf, "--timeout", "100ms")
    complains(done, 2, "no answer within 0.1s", "--timeout")
    assert "nanobind" not in done.stderr


def test_without_a_question_views_and_tables_are_listed(place: Workplace) -> None:
    listed = place.do("query").stdout.splitlines()
    assert any(line.startswith("latest_results ") for line in listed)
    assert {"name", "use"} == json.loads(place.do("query", "--json").stdout)[0].keys()


def test_a_views_name_shows_its_most_useful_columns(measured: Workplace) -> None:
    short = measured.do("query", "benchmark_results").stdout.splitlines()
    assert short[0].split()[:3] == ["cell_id", "latency_median_s", "grade"]
    assert short[-1].endswith("columns left out (--wide)")
    wide = measured.do("query", "benchmark_results", "--wide").stdout.splitlines()
    in_json = json.loads(measured.do("query", "benchmark_results", "--json").stdout)
    assert wide[0].split() == list(in_json[0])
    assert len(wide) == len(in_json) + 1
    complains(measured.do("query", "latest_result"), 2, "did you mean latest_results?")
