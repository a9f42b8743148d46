"""`recommend --next` as a user meets it: what to measure, why, and a matrix that `run` takes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.recommend import next_cells
from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand
from orchestrator.store.store import Store
from runner.contract.models import find
from tests.support.command_line import call
from tests.support.databases import write_records
from tests.support.records import EXAMPLE_HOST, a_failure, a_record

MATRIX = """
version: 1
axes:
  model: [bert-tiny, gpt2-micro]
  backend: [cpu, openvino]
  batch_size: [1, 2, 4]
  mode: [inference, startup]
measure: {profile: quick}
"""
KNOWN = {
    "model_spec": find("bert-tiny").model_dump_json(),
    "peak_flops_per_s": 1e11,
    "peak_bytes_per_s": 1e10,
}
NEXT = ("recommend", "--next", "matrix.yaml", "--database", "benchmarks.duckdb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A matrix of which two cells were measured, and one failed."""
    place = tmp_path_factory.mktemp("next")
    (place / "matrix.yaml").write_text(MATRIX)
    records = [
        *(a_record(**KNOWN, batch_size=size) for size in (1, 2)),
        a_failure("failed", "out of luck", batch_size=4, model_spec=KNOWN["model_spec"]),
        a_record(
            **KNOWN,
            batch_size=4,
            run_id="run-2",
            hostname="other",
            cpu_model="Other",
            device_name="Other",
        ),
    ]
    with Store.open_readonly(write_records(place, records)):
        yield place


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_cells, "this_host", lambda: EXAMPLE_HOST)
    monkeypatch.setattr(next_cells, "absent_devices", list)


def answer(folder: Path, *words: str) -> Any:
    done = call(*NEXT, *words, "--json", folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_cells_that_were_measured_or_failed_here_are_not_proposed(folder: Path) -> None:
    data = answer(folder, "--limit", "99")
    proposed = [row["cell"] for row in data["cells"]]
    assert len(set(proposed)) == data["candidates"] == 9
    assert not any(name.startswith("cpu-bert-tiny") for name in proposed)
    assert (data["measured"], data["examples"]) == (2, 3)
    assert data["left_out"] == {
        "of mode startup, which is not predicted": 12,
        "that ended as failed here before": 1,
    }


def test_six_cells_are_proposed_and_each_narrows_intervals_further(folder: Path) -> None:
    rows = answer(folder)["cells"]
    shares = [row["interval_share"] for row in rows]
    assert (len(rows), shares) == (6, sorted(shares, reverse=True))
    assert {row["model"] for row in rows} == {"bert-tiny", "gpt2-micro"}
    assert {row["seconds_by"] for row in rows} == {"arithmetic"}


def test_the_written_matrix_has_the_proposed_cells_and_the_table_is_shown(folder: Path) -> None:
    done = call(*NEXT, "--limit", "3", "--output", "next.yaml", folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    cells = [cell.id for cell, _ in expand(load_matrix(folder / "next.yaml")).cells]
    assert cells == [row["cell"] for row in answer(folder, "--limit", "3")["cells"]]
    assert all(name in done.stdout for name in cells)
    assert "`orchestrator run next.yaml --results .`" in done.stdout
    piped = call(*NEXT, "--limit", "3", "--format", "matrix", folder=folder, environment={})
    assert piped.stdout == (folder / "next.yaml").read_text()
    again = call(*NEXT, "--output", "next.yaml", folder=folder, environment={})
    assert (again.returncode, "--force" in again.stderr) == (2, True)


def test_the_answer_counts_cells_and_intervals(folder: Path) -> None:
    whole = call(*NEXT, folder=folder, environment={})
    assert "narrow the mean 90 % interval of the other 3 cells by" in whole.stdout
    assert (
        "Of 11 cells that can be measured here 2 are measured now, and 8 then (73%)."
        in whole.stdout
    )


def test_without_a_database_cells_fill_the_space(folder: Path) -> None:
    words = ("recommend", "--next", "matrix.yaml", "--database", "none.duckdb", "--limit", "4")
    done = call(*words, folder=folder, environment={})
    assert "Of 12 cells that can be measured here 0 are measured now, and 4 then" in done.stdout
    assert "Nothing was measured that predictions could rest on" in done.stdout
    rows = json.loads(call(*words, "--json", folder=folder, environment={}).stdout)["cells"]
    assert len({(row["model"], row["backend"]) for row in rows}) == 4


def test_a_device_that_is_not_here_is_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_cells, "absent_devices", lambda: ["openvino"])
    data = answer(folder)
    assert {row["backend"] for row in data["cells"]} == {"cpu"}
    assert data["left_out"]["of backend openvino, whose device is not here"] == 12


def test_lightgbm_is_not_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "lightgbm" or name == "analysis.predict.trees":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert len(answer(folder)["cells"]) == 6


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--select", "cpu-bert-tiny-fp32-b1-*"], 3, "no cell is left to measure here: 1 measured"),
        (["--select", "*-startup"], 3, "12 of mode startup, which is not predicted"),
        (["--select", "nothing"], 3, "keeps none of 24 cells"),
        (["--limit", "0"], 2, "0 is less than 1"),
        (["--set", "axes.model=bert-tin"], 2, "did you mean bert-tiny"),
        (["--output", "next.txt"], 2, "its name says no format"),
        (["--model", "gpt2"], 2, "--model: cannot be combined with --next"),
        (["--output", "benchmarks.duckdb", "--format", "matrix"], 2, "is the database itself"),
    ],
)
def test_refusals_name_what_is_wrong(
    folder: Path, words: list[str], code: int, message: str
) -> None:
    done = call(*NEXT, *words, folder=folder, environment={})
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert done.stdout == ""
