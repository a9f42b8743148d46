"""Counts come from the catalogue, an earlier job, a new one, or a sibling with a mark."""

import csv
import io
import json
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.predict.predictor import NoPrediction, Prediction
from orchestrator.commands.predict import cells, training
from orchestrator.commands.predict.cells import (
    ModelCounts,
    PossibleCells,
    count_models,
    known_counts,
)
from orchestrator.commands.predict.questions import forecast_cells
from orchestrator.launchers.base import Exit
from orchestrator.running.run_file import PREPARATIONS_FOLDER
from runner.contract.errors import EngineUnavailable, ImageError
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.contract.models.counted import COUNTS_FILE
from runner.contract.models.work import catalogued_polynomials
from runner.contract.reasons import reason
from tests.support.command_line import call
from tests.support.fakes import (
    KeptObserver,
    Script,
    ScriptedLauncher,
    counted_work,
    finish,
    measures_all,
)
from tests.support.jobs import fake_cell, fake_model

OURS = fake_model()


class Trial:
    """A results folder in which models are counted by a scripted launcher."""

    def __init__(self, results: Path, script: Script | None = None) -> None:
        self.results = results
        self.launcher = ScriptedLauncher(measures_all)
        self.launcher.count_script = script or self.launcher.count_script
        self.observer = KeptObserver()

    def count(self, *models: ModelSpec) -> list[ModelCounts]:
        named = {f"id-{number}": model for number, model in enumerate(models)}
        counts = count_models(named, self.results, self.launcher, self.observer)
        assert list(counts) == list(named)
        return list(counts.values())


def leaves(content: str) -> Script:
    def script(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        (out / COUNTS_FILE).write_text(content)
        return finish(lines)

    return script


def goes(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    raise EngineUnavailable("the engine went away")


def test_what_a_job_counted_is_kept_for_good(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    model = OURS.model_copy(update={"weights": "pretrained", "path": "/a", "revision": "sha256:0"})
    (counts,) = trial.count(model)
    assert counts == ModelCounts(counted_work().polynomials)
    tuned = model.model_copy(update={"path": "/b", "revision": "sha256:1"})
    assert known_counts(tuned, tmp_path) == counts
    assert trial.observer.notes == ["counting the work of scripted"]
    (kept,) = (tmp_path / "counts").iterdir()
    assert kept.name.startswith("embedding-counts-runner")
    assert {path.name for path in tmp_path.iterdir()} == {"counts", PREPARATIONS_FOLDER}


def test_the_job_has_the_architecture_alone_and_a_cell_of_the_cpu(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.count(OURS.model_copy(update={"weights": "pretrained", "path": "/none", "revision": "x"}))
    (job,) = trial.launcher.counted
    (cell,) = job.cells
    assert (job.purpose, job.model.path, job.model.revision) == ("count", None, None)
    assert (cell.backend, cell.runtime, cell.precision, cell.batch_size) == (
        *("cpu", "torch", "fp32"),
        1,
    )
    assert trial.launcher.cleaned == [frozenset({"cpu"})]


def test_the_catalogue_needs_no_job_and_a_model_that_nobody_counted_says_so(tmp_path: Path) -> None:
    bert = find("bert-tiny")
    assert known_counts(bert, tmp_path) == ModelCounts(catalogued_polynomials(bert))
    assert known_counts(OURS, tmp_path).reason == "nobody has counted its work yet"
    assert list(tmp_path.iterdir()) == []


def test_models_of_one_name_are_counted_apart(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.count(OURS, fake_model(width=3))
    assert len(trial.launcher.counted) == len(list((tmp_path / "counts").iterdir())) == 2


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (leaves("{}"), "counts.json: counted_by: Field required"),
        (leaves('{"\x1b[2J": 1}'), "counts.json"),
        (
            leaves(counted_work(counted_by="ffffffff").model_dump_json()),
            "rebuild the image of backend cpu",
        ),
        (measures_all, "left nothing that can be read"),
    ],
    ids=["lacking", "steering", "another version", "nothing"],
)
def test_a_claim_that_is_refused_is_a_reason_and_not_kept(
    tmp_path: Path, script: Script, reason: str
) -> None:
    (counts,) = Trial(tmp_path, script).count(OURS)
    assert counts.polynomials is None
    assert reason in str(counts.reason)
    assert str(counts.reason).isprintable()
    assert list((tmp_path / "counts").iterdir()) == []


def test_the_reason_of_a_job_is_kept_until_another_one_counts(tmp_path: Path) -> None:
    refusal = counted_work(polynomials={}, reason=reason("said", text="no keys in this cache"))
    trial = Trial(tmp_path, leaves(refusal.model_dump_json()))
    expected = ModelCounts(None, "no keys in this cache")
    assert trial.count(OURS) == [expected]
    assert known_counts(OURS, tmp_path) == expected
    assert Trial(tmp_path).count(OURS) == [ModelCounts(counted_work().polynomials)]


def test_without_an_image_there_is_a_reason_and_without_an_engine_an_error(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.launcher.refusals["cpu"] = ImageError("no image", hint="build it")
    (counts,) = trial.count(OURS)
    assert "cannot be launched: no image; build it" in str(counts.reason)
    with pytest.raises(EngineUnavailable):
        Trial(tmp_path, goes).count(OURS)


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    Trial(tmp_path).count(OURS)
    (kept,) = (tmp_path / "counts").iterdir()
    kept.write_text("{")
    assert known_counts(OURS, tmp_path).polynomials is None


REASON = "shapes follow from values"
BERT = find("bert-base-uncased")


class AnsweringForecaster:
    """A forecaster that knows the answer to everything it is asked."""

    machines = (SimpleNamespace(key="here", name="here", backends=("cpu",)),)

    def machine_of(self, _: str) -> Any:
        return self.machines[0]

    def forecasts(self, cells: Any, *_: Any) -> Any:
        return {"latency": [Prediction(1.0, 0.5, 2.0, "family", ())] * len(cells)}


def asked(model: ModelSpec, monkeypatch: pytest.MonkeyPatch, folder: Path) -> PossibleCells:
    """A question about a model that a job failed to count."""
    counts = {model.name: ModelCounts(None, REASON)}
    monkeypatch.setattr(cells, "_counted", lambda *_: counts)
    cell = fake_cell(model=model.name, backend="cpu", runtime="torch")
    possible = PossibleCells(((cell, None),), {model.name: model})
    return cells.counted_cells(possible, folder, cells.unheard_notice)


def test_a_sibling_answers_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BERT.model_copy(update={"name": "mine", "forward": {"use_cache": False}})
    possible = asked(model, monkeypatch, tmp_path)
    assert possible.uncounted == {}
    (one,) = forecast_cells(AnsweringForecaster(), possible, ("latency",))  # type: ignore[arg-type]
    answer = one.answers["latency"]
    assert isinstance(answer, Prediction)
    assert answer.extrapolates
    assert f"the work of mine is not counted ({REASON}); it is taken from" in answer.outside[0]
    assert BERT.name in answer.outside[0]


def test_without_a_sibling_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BERT.model_copy(update={"name": "mine", "config": {"model_type": "swin"}})
    possible = asked(model, monkeypatch, tmp_path)
    assert possible.guessed == {}
    (one,) = forecast_cells(AnsweringForecaster(), possible, ("latency",))  # type: ignore[arg-type]
    assert one.answers["latency"] == NoPrediction(f"the work of mine is not counted: {REASON}")


FILE = "benchmark-infer-amp-{layout}-pt240-cu124-rtx3090.csv"
HEADER = (
    "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,"
    "infer_gmacs,infer_macts,param_count"
)
EVALUATE = ("predict", "evaluate", "--source", "all", "--target", "throughput")
MODELS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("imported")
    for layout, factor in (("nchw", 1.0), ("nhwc", 1.2)):
        lines = [
            f"resnet{number},{factor * 4000 / number:.2f},1,32,224,{number},{number},{5 * number}"
            for number in range(1, MODELS + 1)
        ]
        (path / FILE.format(layout=layout)).write_text("\n".join([HEADER, *lines]), "utf-8")
    done = call("import", ".", folder=path, environment={})
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.slow
def test_results_are_hidden_and_predicted(folder: Path) -> None:
    done = call(*EVALUATE, folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    assert "throughput: 12 results of pytorch-image-models, hidden and predicted" in done.stdout
    assert "not tried: seen at other sizes: no model was measured at enough sizes; " in done.stdout
    assert "fewer than 10 groups: such errors say little about others" in done.stdout


@pytest.mark.slow
def test_files_hold_shares_and_every_baseline(folder: Path) -> None:
    document = json.loads(call(*EVALUATE, "--json", folder=folder, environment={}).stdout)
    rows = {row["novelty"]: row for row in document["trials"]}
    assert rows["device"]["mape"] is None
    assert rows["model"]["questions"] == 2 * MODELS
    assert rows["model"]["groups"] == MODELS
    names = ("roofline", "two_way", "ridge", "lightgbm")
    assert all(rows["model"][f"{name}_mape"] > 0 for name in names)
    text = call(*EVALUATE, "--format", "csv", folder=folder, environment={}).stdout
    assert [row["novelty"] for row in csv.DictReader(io.StringIO(text))] == [*rows]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "every"), [((), False), (("--every-fold",), True)])
def test_of_many_results_one_fold_is_hidden_unless_all_are_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], every: bool
) -> None:
    monkeypatch.setattr(training, "MOST_TRAINED", MODELS)
    done = call(*EVALUATE, *words, "--json", folder=folder, environment={})
    (row,) = [one for one in json.loads(done.stdout)["trials"] if one["novelty"] == "model"]
    assert row["of_folds"] > 1
    assert row["folds"] == (row["of_folds"] if every else 1)
    assert (row["questions"] == 2 * MODELS) == every
    said = call(*EVALUATE, *words, folder=folder, environment={}).stdout
    assert ("--every-fold hides all" in said) == (not every)


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    done = call("predict", "evaluate", "--target", "latncy", folder=tmp_path, environment={})
    assert done.returncode == 2
    assert "--target: 'latncy'" in done.stderr
