"""The schema, the default matrix and the documentation say the same as the code."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from orchestrator.matrix import load_matrix, matrix_json_schema
from orchestrator.matrix.file import MatrixDocument, MeasureTable
from orchestrator.matrix.load import measure_of
from orchestrator.matrix.model_files import read_models
from orchestrator.planning.expand import expand
from orchestrator.planning.memory import memory_need_bytes
from orchestrator.planning.plan import make_plan
from runner.contract.axes import AXIS_NAMES, RUNTIMES, Backend, Runtime
from runner.contract.errors import MatrixError
from runner.contract.job import PROFILES
from runner.contract.models import find
from tests.support.matrices import matrix_of
from tests.support.weights import a_weights_folder

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/matrix.md").read_text("utf-8")
SCHEMA = matrix_json_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)


def examples(fence: str) -> list[str]:
    return re.findall(rf"^```{fence}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def test_the_committed_schema_is_fresh() -> None:
    assert json.loads((ROOT / "docs/matrix.schema.json").read_text("utf-8")) == SCHEMA


def test_the_schema_is_one_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    tables = [SCHEMA, *(table for table in SCHEMA["$defs"].values() if "properties" in table)]
    assert len(tables) == 7
    for table in tables:
        assert table["additionalProperties"] is False
        for key, field in table["properties"].items():
            assert field.keys() & {"description", "$ref"}, key


def test_the_default_matrix_names_the_schema_and_keeps_to_it() -> None:
    text = (ROOT / "matrix.yaml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=docs/matrix.schema.json\n")
    VALID.validate(yaml.safe_load(text))


def test_the_default_matrix_runs_whole() -> None:
    plan = make_plan(load_matrix(ROOT / "matrix.yaml"))
    paths = {(entry.cell.backend, entry.cell.runtime) for entry in plan.with_decision("run")}
    on_cpu: set[tuple[Backend, Runtime]] = {("cpu", runtime) for runtime in RUNTIMES["cpu"]}
    assert paths == {*on_cpu, ("openvino", "openvino")}
    assert len(plan.with_decision("run")) == len(plan.entries)
    assert plan.notes == ()


@pytest.mark.parametrize("text", examples("yaml"))
def test_every_example_of_the_guide_loads_and_keeps_to_the_schema(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "matrix.yaml").write_text(text)
    assert make_plan(load_matrix(tmp_path / "matrix.yaml")).entries
    VALID.validate(yaml.safe_load(text))


def test_the_guides_custom_models_load(tmp_path: Path) -> None:
    (text,) = examples("yaml models")
    (tmp_path / "models.yaml").write_text(text)
    assert list(read_models(tmp_path / "models.yaml")) == ["ours-small", "our-speech"]


def test_the_guides_pretrained_models_load(tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "models/all-MiniLM-L6-v2")
    texts = examples("yaml pretrained") + examples("yaml hub")
    (tmp_path / "models.yaml").write_text("".join(texts))
    found = read_models(tmp_path / "models.yaml")
    assert {name: model.weights for name, model in found.items()} == {
        "minilm": "pretrained",
        "minilm-hub": "pretrained",
    }


def test_the_guides_table_of_memory_is_right() -> None:
    rows = re.findall(
        r"^\| `(\S+)` \| (\w+), (\w+) \| ([\d.]+) \| ([\d.]+) \|$", GUIDE, re.MULTILINE
    )
    assert len(rows) == 5
    for name, mode, precision, foreseen, measured in rows:
        axes = {"model": name, "mode": mode, "precision": precision}
        ((cell, _),) = expand(matrix_of(axes)).cells
        need = memory_need_bytes(cell, find(name))
        assert f"{need / 1e9:.3g}" == foreseen
        assert float(foreseen) < float(measured)


def test_the_guide_names_every_key() -> None:
    tables = [table["properties"] for table in SCHEMA["$defs"].values() if "properties" in table]
    for key in {key for table in (SCHEMA["properties"], *tables) for key in table}:
        assert f"`{key}`" in GUIDE or f"`{key}: 1`" in GUIDE, key


def test_the_guides_table_of_profiles_is_right() -> None:
    for key in MeasureTable.__annotations__.keys() - {"profile"}:
        row = re.search(rf"^\| `{key}` \|(.*)\|$", GUIDE, re.MULTILINE)
        assert row
        for profile, cell in zip(PROFILES, row[1].split("|")[1:], strict=True):
            given = {} if cell.strip() == "none" else {key: _value(key, cell.strip())}
            changed: Any = {"profile": profile, **given}
            file = MatrixDocument.model_validate({"version": 1, "measure": changed})
            assert measure_of(file, "cpu") == PROFILES[profile], key


def _value(key: str, cell: str) -> object:
    return cell if key.endswith(("duration", "target", "side")) else int(cell)


@pytest.mark.parametrize(("value", "compared"), [(True, True), (False, False), ("auto", None)])
def test_what_is_measured_side_by_side_is_a_word_of_three(value: object, compared: object) -> None:
    file = MatrixDocument.model_validate({"version": 1, "measure": {"side_by_side": value}})
    assert measure_of(file, "cpu").side_by_side is compared
    VALID.validate({"version": 1, "axes": {}, "measure": {"side_by_side": value}})


@pytest.mark.parametrize("value", ["always", "ture", "yes", 1, 0, None, []])
def test_other_words_for_side_by_side_are_refused(value: object) -> None:
    measure = {"side_by_side": value}
    with pytest.raises(MatrixError, match=r"measure\.side_by_side") as refusal:
        matrix_of({"model": "gpt2"}, measure=measure)
    assert "true, false, auto" in str(refusal.value)
    assert not VALID.is_valid({"version": 1, "axes": {}, "measure": measure})


@pytest.mark.parametrize(
    "data",
    [
        {"axes": {"model": "gpt2"}},
        {"version": 1, "axes": {"model": "gtp2"}},
        {"version": 1, "axes": {"model": "gpt2", "batch_size": []}},
        {"version": 1, "axes": {"model": "gpt2", "precision": "fp17"}},
        {"version": 1, "axes": {"model": "gpt2"}, "include": [{}]},
        {"version": 1, "axes": {"model": "gpt2"}, "backends": {"cuba": {}}},
        {"version": 1, "backends": {"cpu": {"axes": {"backend": "cpu"}}}},
    ],
)  # fmt: skip
def test_editors_see_the_commonest_mistakes(data: dict[str, Any]) -> None:
    assert not VALID.is_valid(data)


def test_every_axis_is_in_the_guide() -> None:
    assert [axis for axis in AXIS_NAMES if f"| `{axis}` |" not in GUIDE] == []
