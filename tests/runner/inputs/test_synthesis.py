import numpy as np
import pytest

from runner.contract.errors import Unsupported
from runner.contract.models import find
from runner.inputs import calibration_queries, synthesise, synthesise_labels
from tests.support.jobs import fake_cell
from tests.support.words import raises_words


def test_inputs_take_the_cells_shape_and_the_vocabulary() -> None:
    inputs = synthesise(find("gpt2"), fake_cell(3, sequence_length=17), seed=0)
    assert inputs["input_ids"].shape == (3, 17)
    assert inputs["input_ids"].dtype == np.int64
    assert 0 <= inputs["input_ids"].min() <= inputs["input_ids"].max() < 50257
    assert (inputs["attention_mask"] == 1).all()
    image = synthesise(find("vit-base"), fake_cell(2, sequence_length=None), seed=0)
    assert image["pixel_values"].shape == (2, 3, 224, 224)
    assert image["pixel_values"].dtype == np.float32


@pytest.mark.parametrize(
    ("model", "shape", "high"),
    [
        ("bert-tiny", (3, 8), 30522),
        ("gpt2", (3, 8), 50256),
        ("vit-base", (3,), 1000),
        ("t5-small", (3, 8), 32100),
    ],
)
def test_labels_have_the_shape_of_what_the_model_gives(
    model: str, shape: tuple[int, ...], high: int
) -> None:
    labels = synthesise_labels(find(model), fake_cell(3), seed=0)["labels"]
    assert labels.shape == shape
    assert labels.dtype == np.int64
    assert 0 <= labels.min() <= labels.max() < high


@pytest.mark.parametrize("name", ["clip-micro", "clap-micro", "xclip-micro"])
def test_a_contrastive_batch_has_no_labels_but_something_to_compare(name: str) -> None:
    assert synthesise_labels(find(name), fake_cell(2), seed=0) == {}
    with raises_words(Unsupported, match="a batch of 1 has nothing to compare"):
        synthesise_labels(find(name), fake_cell(1), seed=0)


def test_every_second_query_for_calibration_is_padded_where_there_is_a_mask() -> None:
    cell = fake_cell(2, sequence_length=16)
    queries = calibration_queries(find("bert-micro"), cell, range(4))
    kept = [query["attention_mask"].sum(axis=1).tolist() for query in queries]
    assert kept == [[16, 16], [12, 4]] * 2
    assert len({query["input_ids"].tobytes() for query in queries}) == 4
    pictures = calibration_queries(find("vit-micro"), fake_cell(2, sequence_length=None), range(2))
    assert [query.keys() for query in pictures] == [{"pixel_values"}] * 2
