"""`predict evaluate` as a user meets it: a table for each target, and honest words of few rows."""

import csv
import io
import json
from pathlib import Path

import pytest

from orchestrator.commands.predict import training
from tests.support.command_line import call

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
