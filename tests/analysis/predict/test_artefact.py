"""A predictor as files: what comes back predicts the same, and what is altered is refused."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from analysis.predict.artefact.files import TrainingOrigin, predictor_files
from analysis.predict.artefact.manifest import MANIFEST_NAME, parse_manifest
from analysis.predict.artefact.reading import read_forecaster
from analysis.predict.artefact.tree_text import require_trees
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.explanation import explanation_of
from analysis.predict.forecaster import Forecaster
from analysis.predict.novelty import Novelty
from analysis.predict.predictor import Prediction
from analysis.predict.training import train_target
from runner.contract.errors import DamagedFile
from tests.analysis.predict.examples import a_placement, an_example, peak_seconds

Files = dict[str, str]
TREES, EFFECTS = "latency-model-trees.txt", "latency-expectation-whole.json"
NOVELTIES: tuple[Novelty, ...] = ("shape", "model", "family", "device")
QUESTIONS = [
    a_placement("net-1", "big", 6, 1.0),
    a_placement("net-9", "big", 4, 3.0),
    a_placement("net-1", "unknown", 4, 1.0),
]


@dataclass(frozen=True)
class Written:
    """A forecaster and its files."""

    forecaster: Forecaster
    files: Files

    def changed(self, name: str, change: Callable[[str], str]) -> Files:
        """The files with one that was changed by somebody who knows how to mend the manifest."""
        text = change(self.files[name])
        manifest = json.loads(self.files[MANIFEST_NAME])
        manifest["files"][name] = hashlib.sha256(text.encode()).hexdigest()
        return {**self.files, name: text, MANIFEST_NAME: json.dumps(manifest)}


@pytest.fixture(scope="module")
def written() -> Written:
    """A predictor of latency and throughput for six models on two devices."""
    facts = [
        {"model": f"net-{number}", "device": device, "batch_size": batch, "work": float(number)}
        for number in range(1, 7)
        for device in ("big", "small")
        for batch in (1, 2, 3, 4, 6, 8)
    ]
    seconds = [
        1e-4 + (2 + index % 3) * peak_seconds(a_placement(**one)) for index, one in enumerate(facts)
    ]  # type: ignore[arg-type]
    predictors = {}
    for name, values in (
        ("latency", seconds),
        (
            "throughput",
            [one["batch_size"] / value for one, value in zip(facts, seconds, strict=True)],
        ),  # type: ignore[operator]
    ):
        examples = [an_example(value, **one) for one, value in zip(facts, values, strict=True)]
        predictor = train_target(PREDICTION_TARGETS[name], examples, NOVELTIES)
        assert predictor is not None
        predictors[name] = predictor
    machine = KnownMachine(
        "big", "Big GPU", ("cuda",), {"fp32": QUESTIONS[0].device}, {("cuda", "torch"): "2.4"}, None
    )
    forecaster = Forecaster(predictors, (machine,))
    origin = TrainingOrigin(
        "0.1", 8, datetime.now(UTC), "a.duckdb", "ours", {"run": 72}, "0" * 64, {"no work": 3}
    )
    return Written(forecaster, predictor_files(forecaster, origin))


def read(files: Files, *targets: str) -> Forecaster:
    manifest = parse_manifest(files[MANIFEST_NAME])
    return read_forecaster(manifest, files.__getitem__, targets or None)


def ask(forecaster: Forecaster, target: str = "latency") -> list[float]:
    """Everything that is predicted of the questions, which makes all files be read."""
    answers = forecaster.predictors[target].predict(QUESTIONS)
    known = [one for one in answers if isinstance(one, Prediction)]
    return [value for one in known for value in (one.value, one.low, one.high)]


@pytest.mark.parametrize("target", ["latency", "throughput"])
def test_what_was_read_predicts_what_was_written(written: Written, target: str) -> None:
    copy = read(written.files)
    assert ask(copy, target) == pytest.approx(ask(written.forecaster, target), rel=1e-6)
    assert copy.machines == written.forecaster.machines


def test_files_are_text_without_code(written: Written) -> None:
    for name, text in written.files.items():
        assert name.endswith((".json", ".txt"))
        if name.endswith(".json"):
            json.loads(text)
        else:
            assert text.startswith("tree\n")


def test_a_question_reads_only_what_it_needs(written: Written) -> None:
    names: list[str] = []

    def count(name: str) -> str:
        names.append(name)
        return written.files[name]

    manifest = parse_manifest(written.files[MANIFEST_NAME])
    forecaster = read_forecaster(manifest, count, ["latency"])
    forecaster.predictors["latency"].predict([QUESTIONS[1]])
    assert {name.partition("-")[0].partition(".")[0] for name in names} == {"machines", "latency"}
    assert not any("shape" in name for name in names)


def test_the_manifest_says_what_it_rests_on(written: Written) -> None:
    manifest = parse_manifest(written.files[MANIFEST_NAME])
    assert manifest.examples == {"accelmatrix": 72}
    assert set(manifest.targets) == {"latency", "throughput"}
    assert manifest.targets["latency"].errors["model"].examples == 72
    assert manifest.left_out == {"no work": 3}


@pytest.mark.parametrize("name", ["latency.json", "machines.json", TREES])
def test_an_altered_file_is_refused(written: Written, name: str) -> None:
    altered = {**written.files, name: written.files[name].replace("1", "2", 1)}
    with pytest.raises(DamagedFile, match=re.escape(f"{name} is not what {MANIFEST_NAME} says")):
        ask(read(altered))


def _in_json(*path: str | int, value: Any) -> Callable[[str], str]:
    def change(text: str) -> str:
        data = json.loads(text)
        inner = data
        for step in path[:-1]:
            inner = inner[step]
        if value is None:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return json.dumps(data)

    return change


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("latency.json", _in_json("seen", value=None), "other fields"),
        ("latency.json", _in_json("target", value="speed"), "is not one of latency"),
        ("latency.json", _in_json("domain", "lows", "arithmetic", value="x"), "is no number"),
        (
            "latency.json",
            _in_json("domain", "lows", "arithmetic", value=1e400),
            "not a JSON number",
        ),
        ("latency.json", _in_json("domain", "lows", "arithmetic", value=10**400), "is no number"),
        (EFFECTS, _in_json("base", "quantity", value="speed"), "is not one of time"),
        (EFFECTS, _in_json("effects", "levels", "model", "keys", value=[]), "0 keys"),
        (EFFECTS, _in_json("effects", "levels", "model", "keys", 0, value={}), "not there"),
        (EFFECTS, _in_json("effects", "levels", "model", "keys", 0, value=9999), "not there"),
        (EFFECTS, _in_json("effects", "levels", "model", "parts", 0, value={}), "a key is"),
        (EFFECTS, _in_json("effects", "levels", "model", "rows", 0, value=[]), "as long"),
        ("latency.json", _in_json("trees", value="model"), "is str, not list"),
        ("latency.json", _in_json("expectations", value=["whole"]), "has expectations whole, not"),
        (EFFECTS, _in_json("base", "coefficients", "", value=[1.0, 2.0]), "do not fit together"),
        (EFFECTS, _in_json("base", "coefficients", "", value=None), "do not fit together"),
        ("latency.json", _in_json("domain", "highs", value={}), "do not fit together"),
        (EFFECTS, _in_json("effects", "levels", "model", value=None), "do not fit together"),
        (EFFECTS, _in_json("effects", "means", value=[1.0, 2.0]), "do not fit together"),
        (EFFECTS, _in_json("effects", "chosen", value="transfer"), "holds effects transfer"),
        ("latency.json", lambda _: "[" * 100_000, "nested too deeply"),
        ("latency.json", lambda _: "", "line 1 is not JSON"),
        ("latency-model.json", _in_json("novelty", value="shape"), "is of novelty shape"),
        ("latency-model.json", _in_json("quantile", value=True), "is no number"),
        ("machines.json", _in_json(0, "devices", "fp32", "key", value=None), "other fields"),
        (TREES, lambda text: text.replace("max_feature_idx=", "max_feature_idx=9"), "columns"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(
    written: Written, name: str, change: Callable[[str], str], fault: str
) -> None:
    with pytest.raises(DamagedFile, match=re.escape(name)) as refusal:
        ask(read(written.changed(name, change)))
    assert fault in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (_in_json("version", value=1), "its version is 1"),
        (_in_json("files", value=[]), "files"),
        (_in_json("more", value=1), "more"),
        (_in_json("rows", "run", value=-1), "rows.run"),
        (_in_json("columns", value=["arithmetic"]), "another version of AccelMatrix"),
        (lambda _: "{", "line 1 is not JSON"),
        (lambda _: "[]", "its version is None"),
    ],
)
def test_another_manifest_is_refused(
    written: Written, change: Callable[[str], str], fault: str
) -> None:
    files = {**written.files, MANIFEST_NAME: change(written.files[MANIFEST_NAME])}
    with pytest.raises(DamagedFile) as refusal:
        read(files)
    assert fault in str(refusal.value)


def _line(text: str, name: str, change: Callable[[str], str]) -> str:
    """The first line of that name in the first tree, changed; the size of the tree stays."""
    at = text.index(f"\n{name}=", text.index("Tree=0\n")) + 1
    end = text.index("\n", at)
    new = change(text[at:end])
    assert len(new) == end - at
    return text[:at] + new + text[end:]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text.replace("tree\n", "trees\n", 1), "no text of LightGBM"),
        (lambda text: text.replace("version=v4", "version=v9", 1), "version"),
        (lambda text: text.replace("end of trees", "end of tree"), "no end"),
        (lambda text: re.sub(r"tree_sizes=\d+", "tree_sizes=1", text), "is not where it is"),
        (lambda text: re.sub(r"tree_sizes=.*", "tree_sizes=-1", text), "not above 0"),
        (lambda text: re.sub(r"tree_sizes=\S+ ", "tree_sizes=", text), "is not where it is"),
        (lambda text: _line(text, "num_leaves", lambda line: line[:-1] + "9"), "numbers"),
        (lambda text: _line(text, "num_cat", lambda line: "num_cat=1"), "categories"),
        (lambda text: _line(text, "left_child", lambda line: line.replace("-1", "99", 1)), "tree"),
        (
            lambda text: _line(
                text, "split_feature", lambda line: re.sub(r"\d", "9", re.sub(r"=\d ", "=99", line))
            ),
            "tree 0",
        ),
        (
            lambda text: _line(text, "leaf_value", lambda line: re.sub(r"\d", "x", line)),
            "no number",
        ),
    ],
)
def test_trees_that_would_lead_their_reader_astray_are_refused(
    written: Written, change: Callable[[str], str], fault: str
) -> None:
    columns = len(written.forecaster.predictors["latency"].columns.names("model"))
    require_trees(written.files[TREES], columns)
    with pytest.raises(ValueError, match=fault):
        require_trees(change(written.files[TREES]), columns)


def test_a_threshold_may_be_infinite(written: Written) -> None:
    """LightGBM writes it where what is missing goes one way and every number the other."""

    def infinite(line: str) -> str:
        first = line.partition("=")[2].split()[0]
        return line.replace(first, "inf".ljust(len(first)), 1)

    columns = written.forecaster.predictors["latency"].columns.names("model")
    require_trees(_line(written.files[TREES], "threshold", infinite), len(columns))


@pytest.mark.parametrize("target", ["latency", "throughput"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_explanation_multiplies_to_the_prediction(
    written: Written, target: str, question: Any
) -> None:
    explanation = explanation_of(written.forecaster.predictors[target], question)
    product = explanation.base  # type: ignore[union-attr]
    for factor in explanation.factors:  # type: ignore[union-attr]
        product *= factor.value
    assert product == pytest.approx(explanation.prediction.value)  # type: ignore[union-attr]
    assert sum(explanation.shares.values()) == pytest.approx(1.0)  # type: ignore[union-attr]
