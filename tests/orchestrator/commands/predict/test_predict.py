"""`predict` as a user meets it: trained once on a small database, then asked in every way."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from analysis.predict.manifest import text_digest
from orchestrator.commands.predict.cells import known_counts
from orchestrator.matrix import Source, resolve
from orchestrator.store.health.decisions import bind_predictor
from orchestrator.store.store import Store
from runner.contract.models import find, iteration_work
from runner.contract.models.counted import FORWARD_COUNTS
from runner.contract.record.files import save_record
from tests.support.command_line import call, complains
from tests.support.databases import everything, write_records
from tests.support.jobs import fake_cell
from tests.support.records import a_record
from tests.support.weights import BERT, a_weights_folder, write_safetensors

MODEL, OTHER = "bert-tiny", "bert-micro"
DATABASE = "benchmarks.duckdb"
WHERE = ("--database", DATABASE)
FOLDER = f"{DATABASE}.predictor"
LATER = "latency-whole.json"
"""A file that is read when a question needs it."""
CELL = "cpu-bert-tiny-fp32-b3-s128-inference"
BATCHES = (1, 2, 4, 6, 8)
PEAKS = {"peak_flops_per_s": 1e11, "peak_bytes_per_s": 1e10}
MATRIX = """
version: 1
axes: {model: [bert-tiny, gpt2], backend: [cpu, cuda], batch_size: [1, 3, 8]}
"""


def seconds(batch_size: int, factor: float) -> float:
    return factor * (1e-3 + 2e-3 * batch_size)


def records() -> list[Any]:
    return [
        a_record(
            model=model,
            precision=precision,
            batch_size=batch,
            latency_median_s=seconds(batch, weight * speed),
            model_spec=find(model).model_dump_json(),
            **PEAKS,
        )
        for model, weight in ((MODEL, 1.0), (OTHER, 2.5))
        for precision, speed in (("fp32", 1.0), ("bf16", 0.7))
        for batch in BATCHES
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("trained")
    write_records(folder, records())
    done = call("predict", "train", *WHERE, folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    (folder / "matrix.yaml").write_text(MATRIX, "utf-8")
    with Store.open_readonly(folder / DATABASE):
        yield folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    shutil.copy(trained / DATABASE, tmp_path)
    shutil.copytree(trained / FOLDER, tmp_path / FOLDER)
    return tmp_path


def predict(folder: Path, *words: str) -> Any:
    return call("predict", *words, *WHERE, folder=folder, environment={})


def rows_of(folder: Path, *words: str) -> list[dict[str, Any]]:
    done = predict(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)["cells"]
    return rows


def test_what_was_measured_stands_beside_what_is_predicted(trained: Path) -> None:
    known, unknown = rows_of(trained, "--model", MODEL, "--batch-size", "4,3")
    assert known["latency_median_s"] == pytest.approx(seconds(4, 1.0))
    assert unknown["latency_median_s"] is None
    low, high = (unknown[f"latency_median_s_{end}_predicted"] for end in ("low", "high"))
    assert low < unknown["latency_median_s_predicted"] < high
    assert low < seconds(3, 1.0) < high
    assert (unknown["novelty"], unknown["extrapolation"]) == ("shape", False)


def test_an_answer_says_what_it_rests_on(trained: Path) -> None:
    whole = predict(trained, "--model", MODEL, "--batch-size", "1,3,16").stdout
    assert f"predicted median latency, ms: {MODEL}, cpu torch, fp32" in whole
    assert "rests on 20 results of ours" in whole
    assert "extrapolation, 1 of 3: batch size 16 is above 8, the largest" in whole
    assert f"`orchestrator bench --model {MODEL}" in whole


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--batch-size", "100000"), "the largest that was measured, too far to say anything"),
        (("--precision", "int8"), "precision int8"),
        (("--backend", "cuda"), "no machine with backend cuda is known"),
        (("--mode", "startup"), "mode startup is not predicted"),
        (("--device", "RTX 4090"), "cuda"),
        (("--device", "RTX 4090"), f"orchestrator bench --model {MODEL} --backend cuda"),
        (("--backend", "cuda"), "orchestrator import"),
        (("--target", "energy"), "too few results have it"),
    ],
)
def test_all_that_is_refused_ends_with_the_reason(
    trained: Path, words: tuple[str, ...], reason: str
) -> None:
    complains(predict(trained, "--model", MODEL, *words), 3, reason)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "predict: --model is missing"),
        (("--model", "bert-tny"), "did you mean bert-tiny"),
        (("--model", MODEL, "--batch-size", "x"), "--batch-size: 'x' is not a whole number"),
        (("--model", MODEL, "--target", "speed"), "--target: 'speed'"),
        (("--model", MODEL, "--device", "abacus"), "--device abacus: nothing was measured on it"),
        (("--model", MODEL, "--device", "abacus"), "`orchestrator merge` brings another machine's"),
        (("--model", MODEL, "--output", DATABASE, "--format", "csv"), "is the database itself"),
        (("--model", MODEL, "--chart", "a.svg"), "--chart: a curve needs two sizes"),
        (("explain", "no-cell"), "'no-cell' is no id of a cell"),
        (("explain", CELL, "--model", MODEL), "takes ids of cells, or options"),
        (("matrix", "nothing.yaml", "--output", "a.csv"), "nothing.yaml"),
        (("matrix", "matrix.yaml", "--output", "a.txt"), "says no format"),
    ],
)
def test_wrong_words_are_refused(trained: Path, words: tuple[str, ...], message: str) -> None:
    complains(predict(trained, *words), 2, message)


def test_a_device_with_a_data_sheet_is_an_extrapolation(trained: Path) -> None:
    (row,) = rows_of(trained, "--model", MODEL, "--device", "EPYC 7763", "--threads", "1")
    assert (row["hardware"], row["novelty"], row["extrapolation"]) == (
        "AMD EPYC 7763",
        "device",
        True,
    )
    assert "nothing was measured on this device" in row["reason"]


def test_all_targets_have_a_table_each(trained: Path) -> None:
    words = ("--model", MODEL, "--batch-size", "2,3", "--target", "all")
    text = predict(trained, *words).stdout
    for heading in ("median latency, ms", "throughput, samples/s", "memory, MB"):
        assert f"predicted {heading}" in text
    table = predict(trained, *words, "--format", "csv").stdout
    (first, _) = csv.DictReader(io.StringIO(table))
    assert {"throughput_predicted", "memory_peak_bytes_low_predicted"} <= first.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "suffix"),
    [
        (("--model", MODEL, "--batch-size", "1,2,3,8", "--precision", "fp32,bf16"), "svg"),
        (("explain", CELL), "html"),
        (("show",), "svg"),
    ],
)
def test_charts_show_band_and_factors(
    trained: Path, tmp_path: Path, words: tuple[str, ...], suffix: str
) -> None:
    chart = tmp_path / f"chart.{suffix}"
    done = predict(trained, *words, "--chart", str(chart))
    assert done.returncode == 0, done.stderr
    assert chart.stat().st_size > 1000


def test_an_explanation_is_a_product(trained: Path) -> None:
    done = predict(trained, "explain", CELL, "--json")
    (explained,) = json.loads(done.stdout)["explanations"]
    product = explained["base"]
    for factor in explained["factors"]:
        product *= factor["factor"]
    assert product == pytest.approx(explained["value_predicted"])
    (asked,) = rows_of(trained, "--model", MODEL, "--batch-size", "3")
    assert explained["value_predicted"] == pytest.approx(asked["latency_median_s_predicted"])
    assert "counted work is" in predict(trained, "explain", CELL).stdout


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("m.parquet", lambda path: pq.read_table(path).to_pylist()),
        ("m.json", lambda path: json.loads(path.read_text())),
        ("m.csv", lambda path: [*csv.DictReader(path.open())]),
    ],
)
def test_a_matrix_is_predicted_cell_by_cell(
    trained: Path, tmp_path: Path, name: str, read: Callable[[Path], list[dict[str, Any]]]
) -> None:
    output = tmp_path / name
    done = predict(trained, "matrix", "matrix.yaml", "--output", str(output))
    assert done.returncode == 0, done.stderr
    assert "12 cells: " in done.stdout
    assert "no machine with backend cuda is known" in done.stdout
    rows = read(output)
    assert len(rows) == 12
    cuda = [row for row in rows if row["backend"] == "cuda"]
    assert {row["latency_median_s_predicted"] or None for row in cuda} == {None}
    assert all("cuda" in row["reason"] for row in cuda)
    assert [*rows[0]][-3:] == ["novelty", "extrapolation", "reason"]


def test_predictions_never_enter_the_database(trained: Path, tmp_path: Path) -> None:
    before = everything(trained / DATABASE)
    predict(trained, "--model", MODEL, "--output", str(tmp_path / "a.json"))
    predict(trained, "show")
    assert everything(trained / DATABASE) == before


def test_show_tells_errors_and_machines(trained: Path) -> None:
    document = json.loads(predict(trained, "show", "--json").stdout)
    assert document["sources"] == "ours"
    assert document["added_since"] == 0
    assert document["targets"]["latency"]["examples"] == {"accelmatrix": 20}
    (machine,) = document["machines"]
    assert machine["backends"] == ["cpu"]
    assert "median error" in predict(trained, "show").stdout


def test_results_that_came_since_are_told(copied: Path) -> None:
    later = copied / "later"
    later.mkdir()
    file = save_record(a_record(run_id="20261122-120000-cccc", batch_size=5, **PEAKS), later)
    with Store.open(copied / DATABASE) as store:
        store.merge([file]).require_complete()
    done = predict(copied, "--model", MODEL, "--batch-size", "5")
    assert done.returncode == 0
    assert "1 result came since it was trained: `orchestrator predict train" in done.stdout


def _without_rows(folder: Path) -> None:
    with duckdb.connect(folder / DATABASE) as connection:
        connection.execute("DELETE FROM benchmark_results WHERE batch_size = 8")


def _other_database(folder: Path) -> None:
    (folder / DATABASE).unlink()
    (folder / "other").mkdir()
    write_records(folder / "other", [a_record(run_id="20261122-120000-dddd", **PEAKS)])
    (folder / "other" / DATABASE).rename(folder / DATABASE)


def _manifest(folder: Path, noted: bool = False, **changes: Any) -> None:
    """Change it; if that is noted, the database takes it for its own."""
    path = folder / FOLDER / "predictor.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    if noted:
        bind_predictor(folder / DATABASE, text_digest(path.read_text()))


def _linked(folder: Path) -> None:
    path = folder / FOLDER / "latency.json"
    path.rename(folder / "elsewhere.json")
    path.symlink_to(folder / "elsewhere.json")


def _waiting(folder: Path) -> None:
    path = folder / FOLDER / "predictor.json"
    path.unlink()
    os.mkfifo(path)


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda folder: shutil.rmtree(folder / FOLDER), "there is no predictor yet"),
        (_without_rows, "4 of the 20 results that it rests on are gone"),
        (_other_database, "is that of another database"),
        (lambda folder: _manifest(folder, rows={}), "another database, or was altered"),
        (lambda folder: _manifest(folder, noted=True, version=9), "of another version"),
        (lambda folder: _manifest(folder, noted=True, schema_version=7), "it is of schema 7"),
        (lambda folder: (folder / FOLDER / "latency.json").write_text("{}"), "is not what"),
        (lambda folder: (folder / FOLDER / "latency.json").unlink(), "latency.json is missing"),
        (lambda folder: (folder / FOLDER / LATER).write_text("{}"), f"{LATER} is not what"),
        (lambda folder: (folder / FOLDER / "predictor.json").write_bytes(b"\xff"), "is no text"),
        (_linked, "is a symbolic link"),
        (_waiting, "is a FIFO"),
    ],
)
def test_a_stale_foreign_or_damaged_predictor_is_refused_with_what_makes_a_new_one(
    copied: Path, damage: Callable[[Path], object], fault: str
) -> None:
    damage(copied)
    complains(predict(copied, "--model", MODEL), 6, fault, "orchestrator predict train")


def test_too_few_results_are_not_trained_on(tmp_path: Path) -> None:
    write_records(tmp_path, records()[:2])
    complains(predict(tmp_path, "train"), 3, "holds 2 results to learn from, and 5 are needed")
    assert not (tmp_path / FOLDER).exists()


def test_what_is_in_the_way_of_a_predictor_stays(copied: Path) -> None:
    shutil.rmtree(copied / FOLDER)
    (copied / FOLDER).mkdir()
    (copied / FOLDER / "thesis.txt").write_text("mine")
    complains(predict(copied, "train"), 2, "is no predictor of ours")
    assert (copied / FOLDER / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_model_that_nobody_counted_is_counted_first(copied: Path) -> None:
    """No weights are read: its own are none of this architecture."""
    size = {"hidden_size": 96, "num_hidden_layers": 3, "intermediate_size": 384}
    folder = a_weights_folder(copied / "my-bert", BERT | size)
    write_safetensors(folder / "model.safetensors", {"strange": ("BF16", (400, 400))})
    done = predict(copied, "--model", "./my-bert", "--batch-size", "1,2")
    assert done.returncode == 0, done.stderr
    assert "counting the work of my-bert" in done.stderr
    assert "--model ./my-bert" in done.stdout
    again = predict(copied, "--model", "./my-bert", "--batch-size", "1,2")
    assert (again.stdout, again.stderr) == (done.stdout, "")
    matrix = resolve(Source("matrix", {"version": 1, "axes": {"model": "./my-bert"}}, copied))
    model = matrix.models["my-bert"]
    polynomials = known_counts(model, copied / "results").polynomials or {}
    assert polynomials.keys() == FORWARD_COUNTS
    assert polynomials["macs"] == {
        "batch_size": 96 * 96,
        "batch_size*sequence_length": 3 * (4 * 96 * 96 + 2 * 96 * 384),
        "batch_size*sequence_length*sequence_length": 3 * 2 * 96,
    }
    cell = fake_cell(2, model="my-bert", backend="cpu", runtime="torch")
    assert iteration_work(model, cell, polynomials) is not None
