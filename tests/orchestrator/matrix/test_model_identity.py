"""A model is what it holds: where it lies, how it is called and how it was saved are labels."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix.model_names import folder_model
from runner.contract.artifact_keys import graph_key, reference_key
from runner.contract.models import ModelSpec
from runner.contract.record.ids import model_id
from runner.contract.record.record import JOB_FAULTS, known_columns, recorded_job
from tests.support.jobs import a_job, fake_cell
from tests.support.weights import BERT, save_tensors

Tensors = Mapping[str, tuple[str, tuple[int, ...], bytes]]
TENSORS: Tensors = {
    "embeddings.weight": ("F32", (4, 4), bytes(range(64))),
    "dense.weight": ("BF16", (4, 2), bytes(range(16))),
    "empty": ("F32", (0,), b""),
}
MASKED = BERT | {"architectures": ["BertForMaskedLM"], "sizes": {"a": 1, "b": [{"c": 2}]}}


def saved(
    folder: Path, *shards: Tensors, config: Mapping[str, Any] = MASKED, code: str = "utf-8"
) -> ModelSpec:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), code)
    if len(shards) == 1:
        save_tensors(folder / "model.safetensors", shards[0])
    for number, shard in enumerate(shards if len(shards) > 1 else ()):
        save_tensors(folder / f"model-{number}-of-{len(shards)}.safetensors", shard)
    return folder_model(folder)


def part(*names: str) -> Tensors:
    return {name: TENSORS[name] for name in names}


NOTED = {"_name_or_path": "/home/somebody", "transformers_version": "4.1.0"}
SAME: Mapping[str, Callable[[Path], ModelSpec]] = {
    "elsewhere": lambda folder: saved(folder / "deep/ours", TENSORS),
    "renamed": lambda folder: saved(folder / "theirs", TENSORS),
    "in another order": lambda folder: saved(folder / "ours", dict(reversed(TENSORS.items()))),
    "in shards": lambda folder: saved(
        folder / "ours", part("dense.weight", "empty"), part("embeddings.weight")
    ),
    "keys in another order": lambda folder: saved(
        folder / "ours", TENSORS, config=dict(reversed(MASKED.items()))
    ),
    "saved by transformers": lambda folder: saved(
        folder / "ours", TENSORS, config=NOTED | MASKED | {"sizes": MASKED["sizes"] | NOTED}
    ),
    "with a mark of bytes": lambda folder: saved(folder / "ours", TENSORS, code="utf-8-sig"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_content_is_one_model(name: str, tmp_path: Path) -> None:
    first, other = saved(tmp_path / "a/ours", TENSORS), SAME[name](tmp_path / "b")
    assert first.path != other.path
    assert model_id(first.content) == model_id(other.content)
    assert first.revision == other.revision
    made_by = {"torch": "2.0"}
    keys = [graph_key(one, "forward", "fp32", 0, made_by) for one in (first, other)]
    assert keys[0] == keys[1]
    assert len({reference_key(one, "forward", 0, made_by) for one in (first, other)}) == 1


FLIPPED = bytes([1, *range(1, 64)])
OTHER: Mapping[str, Tensors] = {
    "one byte": TENSORS | {"embeddings.weight": ("F32", (4, 4), FLIPPED)},
    "type": TENSORS | {"dense.weight": ("F16", (4, 2), bytes(range(16)))},
    "shape": TENSORS | {"dense.weight": ("BF16", (2, 4), bytes(range(16)))},
    "name": {**part("embeddings.weight", "empty"), "dense.bias": TENSORS["dense.weight"]},
    "fewer": part("embeddings.weight", "dense.weight"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_tensors_are_another_model(name: str, tmp_path: Path) -> None:
    first, other = saved(tmp_path / "a/ours", TENSORS), saved(tmp_path / "b/ours", OTHER[name])
    assert first.revision != other.revision
    assert model_id(first.content) != model_id(other.content)


@pytest.mark.parametrize(
    "change", [{"hidden_act": "relu"}, {"sizes": {"a": 1, "b": [{"c": 3}]}}, {"vocab_size": 101}]
)
def test_another_value_of_the_configuration_is_another_model(
    change: dict[str, Any], tmp_path: Path
) -> None:
    first = saved(tmp_path / "a/ours", TENSORS)
    other = saved(tmp_path / "b/ours", TENSORS, config=MASKED | change)
    assert first.revision == other.revision
    assert model_id(first.content) != model_id(other.content)


def test_a_record_holds_content_and_labels_apart(tmp_path: Path) -> None:
    """Together they are the job; labels of a stranger change nothing of the content."""
    model = saved(tmp_path / "ours", TENSORS, config=MASKED | NOTED)
    cell = fake_cell(1).model_copy(update={"model": model.name})
    columns = known_columns(a_job([cell], model), cell)
    assert str(tmp_path) not in columns["model_spec"]
    assert recorded_job(columns["job"], columns["model_spec"]).model == model
    forged = json.loads(columns["job"])
    forged["model"] |= {"architecture": "Another", "config": {}}
    assert recorded_job(json.dumps(forged), columns["model_spec"]).model == model
    for damaged in ("", "[]", "{}", '{"model": 1}', "[" * 100_000):
        with pytest.raises(JOB_FAULTS):
            recorded_job(damaged, columns["model_spec"])
        with pytest.raises(JOB_FAULTS):
            recorded_job(columns["job"], damaged)
