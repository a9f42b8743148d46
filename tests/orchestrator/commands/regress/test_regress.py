"""`regress`, and `compare` where it judges: formats, exit codes, known steps, refusals."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command_line import call, complains
from tests.support.comparable import FIRST, SECOND, write_comparable

WHERE = ("--database", "benchmarks.duckdb")
JUDGED = ("regress", "--baseline", FIRST, SECOND, *WHERE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("judged")
    write_comparable(place)
    return place


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (f"regress --baseline {FIRST}", 7, "1 of 2 cells became slower: by 4"),
        (f"regress --baseline {SECOND} {FIRST}", 8, "became faster"),
        (f"regress --baseline {FIRST} --select b8", 3, "The cell cannot be compared."),
        (f"compare {FIRST} last --fail-slower 10%", 7, "became slower"),
        (f"compare {FIRST} last --fail-slower 90%", 8, "1 equal within 90 %; 1 not comparable"),
    ],
)
def test_the_exit_code_is_that_of_the_verdicts(
    folder: Path, words: str, code: int, sentence: str
) -> None:
    arguments = [word.strip("'") for word in words.split()]
    whole = call(*arguments, *WHERE, folder=folder, environment={})
    assert whole.returncode == code, whole.stderr
    assert sentence in whole.stdout


@pytest.mark.slow
def test_every_format_goes_to_a_file(folder: Path) -> None:
    for name in ("a.md", "a.json", "a.xml"):
        done = call(*JUDGED, "--output", name, "--force", folder=folder, environment={})
        assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert (folder / "a.md").read_text().startswith("**Regression**: 1 of 2 cells became slower")
    assert ElementTree.parse(folder / "a.xml").getroot().get("failures") == "1"
    assert json.loads((folder / "a.json").read_text())["counts"]["regression"] == 1


def test_several_metrics_are_judged_at_once(folder: Path) -> None:
    words = ("--metric", "latency,memory", "--metric", "throughput", "--json")
    document = json.loads(call(*JUDGED, *words, folder=folder, environment={}).stdout)
    metrics = {one["metric"] for one in document["judgements"]}
    assert metrics == {"latency", "memory", "throughput"}


def test_a_judging_comparison_has_the_formats_of_compare(folder: Path) -> None:
    words = ("compare", FIRST, SECOND, "--fail-slower", "5%", "--format", "csv", *WHERE)
    done = call(*words, folder=folder, environment={})
    assert done.returncode == 7, done.stderr
    assert "regression" in done.stdout.lower()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("regress", 2, "--baseline is missing"),
        ("regress --baseline last --threshold 5", 2, "--threshold: '5' is no share of the value;"),
        ("regress --baseline last --threshold 100%", 2, "--threshold: '100%' is not below 100 %"),
        (f"regress --baseline {FIRST} last --run {FIRST}", 2, f"--run {FIRST}: `regress … last`"),
        (f"regress --baseline {FIRST} --metric nothing", 2, "--metric: there is no number"),
        ("regress --baseline last --require-grade D", 2, "--require-grade: 'D' is not one of A, B"),
        ("compare --by backend --fail-slower 5%", 2, "compare --fail-slower needs two runs"),
        (f"compare {FIRST} last --fail-slower 5% --across-hosts", 2, "--across-hosts: cannot be"),
        ("compare --by precision --source all --require-grade C", 8, "are below it: "),
    ],
)
def test_refusals_name_the_option(folder: Path, words: str, code: int, message: str) -> None:
    done = call(*words.split(), *WHERE, folder=folder, environment={})
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert done.stderr.count("error:") == 1
    assert "hint:" in done.stderr


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
