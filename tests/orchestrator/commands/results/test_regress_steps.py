"""Known steps and the search for a cause, as `regress` takes and shows them."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import call, complains
from tests.support.comparable import FIRST, SECOND, write_comparable

WHERE = ("--database", "benchmarks.duckdb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("steps")
    write_comparable(place)
    return place


def regress(folder: Path, *words: str) -> int:
    return call("regress", *words, *WHERE, folder=folder, environment={}).returncode


def test_a_known_step_is_recorded_listed_and_taken_back(folder: Path) -> None:
    words = ("regress", "--accept", "last", "--because", "it checks more", *WHERE)
    done = call(*words, folder=folder, environment={})
    assert (done.returncode, done.stderr) == (0, "")
    assert "because: it checks more" in done.stdout
    assert regress(folder, "--baseline", FIRST) != 7
    listed = call("query", "accepted_changes", "--json", *WHERE, folder=folder, environment={})
    assert {row["run_id"] for row in json.loads(listed.stdout)} == {SECOND}
    back = call("regress", "--withdraw", SECOND, "--json", *WHERE, folder=folder, environment={})
    assert json.loads(back.stdout)["because"] is None
    assert regress(folder, "--baseline", FIRST) == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--accept last", "--accept last needs a reason"),
        ("--accept last --because known --withdraw last", "--accept: cannot be combined with"),
        (f"{FIRST} --accept last --because known", "RUN: cannot be combined with --accept"),
        (f"--baseline {FIRST} --bisect --format junit", "--format junit: is for verdicts alone"),
        ("--bisect", "--baseline is missing"),
    ],
)
def test_options_that_do_not_agree_are_refused(folder: Path, words: str, message: str) -> None:
    complains(call("regress", *words.split(), *WHERE, folder=folder, environment={}), 2, message)
