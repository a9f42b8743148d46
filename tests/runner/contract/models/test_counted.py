"""What a job says it counted is a claim: bounded, of known names, of this model and this code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runner.contract.errors import DamagedFile
from runner.contract.models import find, iteration_work
from runner.contract.models.counted import CountedWork, read_counted, terms_of, without_weights
from runner.contract.models.work import catalogued_polynomials, counts_of
from tests.support.fakes import counted_work
from tests.support.jobs import fake_cell
from tests.support.words import words_of

CODE = "0a1b2c3d"
BERT = find("bert-micro")
SOUND: dict[str, Any] = json.loads(counted_work(counted_by=CODE).model_dump_json())


def read(folder: Path, content: object) -> CountedWork:
    path = folder / "counts.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_counted(path, BERT, CODE)


def with_macs(**factors: object) -> dict[str, Any]:
    """Sound counts whose multiply-accumulates are these."""
    return {**SOUND, "polynomials": {**SOUND["polynomials"], "macs": factors}}


def test_what_was_counted_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read(tmp_path, SOUND) == CountedWork.model_validate(SOUND)
    refusal = {"counted_by": CODE, "reason": {"code": "too_few_shapes", "facts": {"model": "m"}}}
    assert (
        words_of(read(tmp_path, refusal).reason)
        == "m takes too few shapes to tell how its work grows"
    )


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "Invalid JSON"),
        ("[" * 5_000, "Invalid JSON"),
        ([], "it: Input should be an object"),
        ({"counted_by": CODE}, "holds neither counts nor a reason"),
        ({"counted_by": CODE, "reason": "words"}, "reason: Input should be an object"),
        ({**SOUND, "extra": 1}, "extra: Extra inputs"),
        ({**SOUND, "counted_by": "ffffffff"}, "counted by the code ffffffff, and this is 0a1b2c3d"),
        ({**SOUND, "polynomials": {"macs": {"": 1}}}, "must count activations, macs, outputs"),
        ({**SOUND, "polynomials": {**SOUND["polynomials"], "cache": {}}}, "all or none of cache"),
        (with_macs(batch_size=True), "polynomials.macs.batch_size: Input should be a valid number"),
        (with_macs(batch_size="5"), "polynomials.macs.batch_size: Input should be a valid number"),
        (with_macs(batch_size=1e19), "less than or equal to"),
        (json.dumps(with_macs(batch_size=7.5)).replace("7.5", "NaN"), "counts.json"),
        (json.dumps(with_macs(batch_size=7.5)).replace("7.5", "1e999"), "counts.json"),
        (with_macs(**{f"t{n}": 1 for n in range(17)}), "at most 16 items"),
        (with_macs(image_size=1), "macs depends on 'image_size', which is none of batch_size,"),
        (with_macs(**{"batch_size*batch_size": 1}), "macs depends on 'batch_size*batch_size'"),
        (" " * (65 << 10), "at most 65,536 are allowed"),
    ],
)
def test_anything_else_is_refused_with_one_clear_error(
    tmp_path: Path, content: object, fault: str
) -> None:
    with pytest.raises(DamagedFile) as caught:
        read(tmp_path, content)
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(json.dumps(SOUND))
    (tmp_path / "link").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(DamagedFile, match="not a plain file"):
            read_counted(tmp_path / name, BERT, CODE)


def test_counts_below_nothing_or_beyond_everything_are_none() -> None:
    cell = fake_cell(4, sequence_length=16)
    for factor, counts in ((2.0, 8), (-1.0, None), (1e17, None)):
        polynomials = {"macs": {"batch_size": factor}}
        assert counts_of(BERT, cell, polynomials) == (counts and {"macs": counts})


@pytest.mark.parametrize("mode", ["inference", "training", "generation"])
def test_given_polynomials_stand_for_those_of_the_catalogue(mode: str) -> None:
    model = find("gpt2-micro")
    cell = fake_cell(2, mode=mode, new_tokens=4 if mode == "generation" else None)
    polynomials = catalogued_polynomials(model)
    ours = model.model_copy(update={"name": "ours", "parameters": None})
    assert iteration_work(ours, cell) is None
    counted = {"parameters": {"": float(model.parameters or 0)}, **(polynomials or {})}
    assert iteration_work(ours, cell, counted) == iteration_work(model, cell)


def test_the_catalogues_counts_are_those_of_its_own_architecture_alone() -> None:
    other = BERT.model_copy(update={"config": {**BERT.config, "num_hidden_layers": 1}})
    assert catalogued_polynomials(other) is None
    assert catalogued_polynomials(BERT.model_copy(update={"parameters": None})) is not None


def test_an_architecture_lies_nowhere_and_has_its_models_terms() -> None:
    here = BERT.model_copy(update={"path": "/weights", "revision": "sha256:0", "hub_id": "a/b"})
    assert without_weights(here) == without_weights(BERT)
    assert terms_of(BERT) == [
        ("batch_size",),
        ("batch_size", "sequence_length"),
        ("batch_size", "sequence_length", "sequence_length"),
    ]
