"""`trend` as a user meets it: the table, its candidates, JSON, a chart, and nothing to show."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.store import Store
from tests.support.command_line import call
from tests.support.repeated import write_repeated

TREND = ("trend", "--database", "benchmarks.duckdb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with Store.open_readonly(write_repeated(tmp_path_factory.mktemp("repeated"))) as store:
        yield store.path.parent


def test_the_answer_names_candidates(folder: Path) -> None:
    whole = call(*TREND, folder=folder, environment={}).stdout
    assert "in 2 series: slower in 1 of 2 (2 times), equal within 5 % in 1." in whole
    assert "times 2 from run 20261102-120000-aaaa to 20261103-120000-aaaa" in whole
    assert "torch 2.13.0, now 2.14.0" in whole
    assert "__#" in whole


def test_json_is_as_documented(folder: Path) -> None:
    answer = json.loads(call(*TREND, "--json", folder=folder, environment={}).stdout)
    assert (answer["metric"], answer["unit"], answer["measured_once"]) == ("latency", "ms", 1)
    grown = answer["series"][0]
    assert (grown["results"], grown["ratio"], grown["outcome"]) == (3, pytest.approx(2), "slower")
    assert [value["value"] for value in grown["values"]] == pytest.approx([4, 4.01, 8])
    assert grown["steps"][0]["after"] == "20261103-120000-aaaa"


def test_a_chart_is_a_page_of_its_own(folder: Path) -> None:
    done = call(*TREND, "b1-", "--chart", "trend.html", folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    assert "Median latency over time, cpu-bert-tiny" in (folder / "trend.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("b2-",), "nothing was measured twice: 1 series was once"),
        (("--run", "last"), "a run measures each cell once: leave out `--run`"),
        (("--metric", "energy"), "no selected result has a value of energy per sample"),
    ],
)
def test_nothing_measured_twice_is_said(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = call(*TREND, *words, folder=folder, environment={})
    assert done.returncode == 3
    assert message in done.stderr
