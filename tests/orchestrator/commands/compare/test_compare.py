"""`compare` as a user meets it: formats, files, charts, and refusals."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.comparable import FIRST, SECOND

BY_BACKEND = ("compare", "--by", "backend", "--database", "benchmarks.duckdb")
OF_RUNS = ("compare", FIRST, "last", "--database", "benchmarks.duckdb")


@pytest.fixture
def folder(comparable: Path) -> Path:
    return comparable


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (BY_BACKEND, "openvino is 1.6 times as good as cpu (95 %: 1.58 to 1.62): faster."),
        (OF_RUNS, "Of 1 cell of both runs: slower in 1 of 1 (0.68 times)."),
        ((*BY_BACKEND, "--metric", "memory"), "and no interval of it, so a ratio has none."),
        (("compare", "--by", "batch", "--across-hosts", *BY_BACKEND[3:]), "other-host"),
        (("compare", "--by", "precision", "--all", *BY_BACKEND[3:]), "outputs wrong"),
        (("compare", "--by", "precision", "--source", "all", *BY_BACKEND[3:]), "by timm"),
    ],
)
def test_the_answer_is_a_sentence(folder: Path, words: tuple[str, ...], told: str) -> None:
    whole = call(*words, folder=folder, environment={})
    assert whole.returncode == 0, whole.stderr
    assert told in whole.stdout


def test_json_is_as_documented(folder: Path) -> None:
    answer = json.loads(call(*BY_BACKEND, "--json", folder=folder, environment={}).stdout)
    assert (answer["metric"], answer["baseline"]) == ("latency", "cpu")
    first, second = answer["rows"]
    assert (first["name"], second["name"]) == ("cpu", "openvino")
    assert second["cell"] == "openvino-bert-tiny-fp32-b1-s128-inference"
    assert (second["value"], second["ratio"]) == (5.0, 0.625)
    assert second["ratio_low"] < 0.625 < second["ratio_high"]
    pair = json.loads(call(*OF_RUNS, "--json", folder=folder, environment={}).stdout)
    assert (pair["baseline"], pair["run"]) == (FIRST, SECOND)
    assert pair["rows"][0]["ratio"] == pytest.approx(15 / 10.2)
    assert "torch 2.13.0, now 2.14.0" in pair["changes"]


def test_csv_has_the_rows_of_json(folder: Path) -> None:
    document = json.loads(call(*BY_BACKEND, "--json", folder=folder, environment={}).stdout)
    text = call(*BY_BACKEND, "--format", "csv", folder=folder, environment={}).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["cell"] for row in rows] == [row["cell"] for row in document["rows"]]
    assert {*rows[0]} == {*document["rows"][0]}


@pytest.mark.parametrize(("name", "part"), [("a.md", "| openvino |"), ("a.html", "<td>openvino")])
def test_a_files_name_says_its_format(folder: Path, name: str, part: str) -> None:
    done = call(*BY_BACKEND, "--output", name, "--force", folder=folder, environment={})
    assert (done.returncode, done.stdout) == (0, "")
    assert part in (folder / name).read_text()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("compare --by precision", 3, "no two of 6 results differ in precision alone"),
        ("compare", 2, "compare needs a property or two runs"),
        (f"compare {FIRST} last --by backend", 2, "--by: cannot be combined with two runs"),
        ("compare --by backend --metric nothing", 2, "--metric: there is no number 'nothing'"),
        ("compare --by backend --chart a.gif", 2, "a.gif"),
    ],
)
def test_refusals_name_the_option(folder: Path, words: str, code: int, message: str) -> None:
    where = ("--database", "benchmarks.duckdb")
    done = call(*words.split(), *where, folder=folder, environment={})
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert done.stderr.count("error:") == 1
    assert "hint:" in done.stderr
