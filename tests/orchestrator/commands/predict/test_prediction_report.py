"""The report on a predictor: its errors, what was hidden and predicted, honest words without."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.predict.manifest import EVALUATION_NAME
from orchestrator.commands.predict.stored_predictor import keep_evaluation, open_predictor
from orchestrator.store.store import Store
from runner.contract.models import find
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.analysis.predict.examples import an_evaluation
from tests.orchestrator.commands.conftest import HOSTILE
from tests.orchestrator.commands.report.test_report import Reader
from tests.support.command_line import call, complains
from tests.support.databases import write_records
from tests.support.records import a_record

slow = pytest.mark.slow
DATABASE = "benchmarks.duckdb"
WHERE = ("--database", DATABASE)
FOLDER = f"{DATABASE}.predictor"
REPORT = ("report", "prediction")
MODELS = {"bert-tiny": 1.0, "bert-micro": 2.5}
PEAKS = {"peak_flops_per_s": 1e11, "peak_bytes_per_s": 1e10}
NOT_YET = "`orchestrator predict evaluate --results .` hides results in turn"
MS = 1e3
"""Milliseconds of a second, which evaluated results take."""


def a_result(model: str, batch_size: int, **facts: Any) -> Record:
    """A result that follows a law, on a device with a hostile name."""
    return a_record(
        model=model,
        batch_size=batch_size,
        latency_median_s=MODELS[model] * (1e-3 + 2e-3 * batch_size),
        model_spec=find(model).model_dump_json(),
        device_name=HOSTILE,
        **{**PEAKS, **facts},
    )


def ask(folder: Path, *words: str, width: int | None = None) -> Any:
    return call(*words, *WHERE, folder=folder, environment={}, width=width)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("trained")
    batches = (1, 2, 3, 4, 6, 8, 12, 16)
    write_records(
        folder,
        [
            a_result(model, batch, precision=precision)
            for model in MODELS
            for precision in ("fp32", "bf16")
            for batch in batches
        ],
    )
    done = ask(folder, "predict", "train")
    assert done.returncode == 0, done.stderr
    with Store.open_readonly(folder / DATABASE):
        yield folder


@pytest.fixture(scope="module")
def evaluated(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it with an evaluation of two results."""
    folder = tmp_path_factory.mktemp("evaluated")
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    database = folder / DATABASE
    with Store.open_readonly(database) as store:
        digest = open_predictor(database, store).manifest.rows_digest
    assert keep_evaluation(database, digest, an_evaluation(HOSTILE).targets)
    return folder


@pytest.fixture
def copied(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="module")
def parts(evaluated: Path) -> dict[str, Any]:
    done = ask(evaluated, *REPORT, "--json")
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["sections"]}


def rows_of(section: Any, table: str) -> list[dict[str, Any]]:
    (rows,) = [one["rows"] for one in section["tables"] if one["name"] == table]
    return list(rows)


def test_it_says_on_whose_results_it_rests_and_what_they_span(parts: dict[str, Any]) -> None:
    (row,) = rows_of(parts["rests"], "sources")
    assert (row["source"], row["latency"]) == ("ourselves", 32)
    (device,) = rows_of(parts["rests"], "machines")
    assert (device["name"], device["backends"], device["peaks"]) == (HOSTILE, "cpu", "measured")
    spans = {row["feature"]: row for row in rows_of(parts["domain"], "span")}
    ends = [spans["batch size"][end] for end in ("least", "most")]
    assert ends == pytest.approx([1, 16])
    assert spans["precision"]["values"] == "bf16, fp32"


def test_errors_of_training_and_of_hidden_results_stand_side_by_side(parts: dict[str, Any]) -> None:
    rows = {row["novelty"]: row for row in rows_of(parts["errors"], "errors_latency")}
    tried, trained = rows["seen elsewhere"], rows["seen at other sizes"]
    assert tried["mape"] == pytest.approx((0.08 + 2.0) / 2)
    assert (tried["coverage"], tried["within_tenth"]) == (0.5, 0.5)
    assert (tried["questions"], tried["extrapolations"], tried["folds"]) == (2, 1, "1 of 5")
    assert (tried["baseline"], tried["baseline_mape"]) == ("ridge", pytest.approx(1.0))
    assert trained["median_error"] < 0.5
    assert trained["examples"] > 0
    assert trained["questions"] is None


def test_charts_hold_hidden_results_with_their_intervals(parts: dict[str, Any]) -> None:
    (chart,) = parts["measured"]["charts"]
    assert chart["title"].endswith("predicted by measured · models hidden on a device")
    points = chart["spec"]["data"]["values"]
    assert [(point["measured"], point["value"]) for point in points] == [
        (MS, pytest.approx(1.08 * MS)),
        (MS, 3 * MS),
    ]
    assert [point["high"] for point in points] == pytest.approx([1.62 * MS, 4.5 * MS])
    assert [point["outside"] for point in points] == ["no", HOSTILE]
    assert "no point is a fit to itself" in parts["measured"]["notes"][0]


def test_misses_stand_with_what_spoke_against_them(parts: dict[str, Any]) -> None:
    (worst,) = rows_of(parts["misses"], "misses_latency")
    assert (worst["ratio"], worst["held"], worst["outside"]) == (3.0, False, HOSTILE)
    assert worst["novelty"] == "seen elsewhere"


def test_a_page_shows_hostile_names_as_text(evaluated: Path) -> None:
    page = ask(evaluated, *REPORT, "--output", "-").stdout
    tags = {tag for tag, _ in Reader(page).elements}
    assert not tags & {"img", "b", "iframe", "link", "base", "form"}
    assert "\u202e" not in page
    assert "Select a number for its" not in page


def test_the_screen_names_the_page(evaluated: Path) -> None:
    wide = ask(evaluated, *REPORT, "--force").stdout
    assert "rests on 32 results of ours" in wide
    assert "reports/prediction.html" in wide
    markdown = ask(evaluated, *REPORT, "--format", "markdown").stdout
    assert markdown.startswith(f"# Predictor of {DATABASE}\n")
    assert "## Largest misses" in markdown


def test_without_an_evaluation_it_names_the_command(trained: Path) -> None:
    done = ask(trained, *REPORT, "--format", "markdown")
    assert done.returncode == 0, done.stderr
    assert NOT_YET in done.stdout
    assert "evaluated: not yet" in done.stdout
    assert "median error in training" in done.stdout
    assert "Largest misses" not in done.stdout


def test_a_new_predictor_has_no_evaluation_yet(copied: Path) -> None:
    assert ask(copied, "predict", "train").returncode == 0
    assert NOT_YET in ask(copied, *REPORT, "--format", "markdown").stdout


@slow
def test_an_evaluation_is_kept_with_earlier_ones_of_other_targets(copied: Path) -> None:
    done = ask(copied, "predict", "evaluate", "--target", "throughput")
    assert done.returncode == 0, done.stderr
    assert "next: `orchestrator report prediction --results .` shows it" in done.stdout
    (sections,) = [json.loads(ask(copied, *REPORT, "--json").stdout)["sections"]]
    errors, measured = sections[:2]
    (row,) = [
        one
        for one in rows_of(errors, "errors_throughput")
        if one["novelty"] == "seen at other sizes"
    ]
    assert row["questions"] > 0
    assert row["folds"] == "5 of 5"
    titles = [one["title"] for one in measured["charts"]]
    assert titles[0].startswith("Median latency")
    assert "Throughput, predicted by measured · sizes hidden" in titles


@slow
def test_an_evaluation_of_other_results_is_not_kept(copied: Path) -> None:
    _later(copied)
    before = (copied / FOLDER / EVALUATION_NAME).read_text()
    evaluation = ask(copied, "predict", "evaluate", "--target", "latency")
    assert "next: `orchestrator predict train" in evaluation.stdout
    assert (copied / FOLDER / EVALUATION_NAME).read_text() == before


def _later(folder: Path) -> None:
    later = folder / "later"
    later.mkdir()
    file = save_record(a_result("bert-tiny", 5, run_id="20261122-120000-cccc"), later)
    with Store.open(folder / DATABASE) as store:
        store.merge([file]).require_complete()


def _damaged(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / FOLDER / EVALUATION_NAME).write_text(text)


@pytest.mark.parametrize(
    ("damage", "code", "fault", "command"),
    [
        (lambda folder: shutil.rmtree(folder / FOLDER), 3, "there is no predictor", "train"),
        (
            lambda folder: (folder / FOLDER / "latency.json").write_text("{}"),
            6,
            "is not what",
            "train",
        ),
        (_damaged("{"), 6, f"{EVALUATION_NAME}: ", "evaluate"),
        (_damaged('{"version": 9}'), 6, "version: Input should be 1", "evaluate"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_command_that_helps(
    copied: Path, damage: Callable[[Path], object], code: int, fault: str, command: str
) -> None:
    damage(copied)
    done = ask(copied, *REPORT, "--output", "page.html")
    complains(done, code, fault, f"orchestrator predict {command}")
    assert not (copied / "page.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("last",), "report prediction: unexpected 'last'"),
        (("--model", "bert-tiny"), "is about the whole predictor"),
        (("--threshold", "5%"), "judges nothing"),
    ],
)
def test_options_that_would_choose_are_refused(
    trained: Path, words: tuple[str, ...], message: str
) -> None:
    complains(ask(trained, *REPORT, *words), 2, message)
