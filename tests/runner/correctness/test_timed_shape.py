"""Runtimes that compile for each shape are compared at the timed one, by the fixed samples."""

from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runner.backends.torch.backend import open_session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.models import find, model_sets
from runner.correctness.compare_outputs import allowed_differences
from runner.correctness.reference import GENERATED_TOKENS, STEPS, compute_outputs
from runner.correctness.timed_shape import compare_timed, is_compiled_for, timed_query
from tests.support.jobs import fake_cell
from tests.support.tiny_models import tiny_decoder, torch_job

STATIC = {"shapes": "static, compiled for each shape"}
OF_PAGES = {"shapes": "fixed as the graph is loaded"}


def other_shape(job: Job, batch: int, length: int | None) -> Cell:
    length = length if job.model.takes_sequence else None
    return job.cells[0].model_copy(update={"batch_size": batch, "sequence_length": length})


def compared(job: Job, cell: Cell, change: float = 0.0) -> Any:
    with closing(open_session(job, threads=1)) as session:
        reference: dict[str, Any] = dict(compute_outputs(session, job))
        reference = {name: array * (1 + change) for name, array in reference.items()}
        allowed = allowed_differences(reference, "fp32")
        return compare_timed(session, job, cell, reference, allowed)


@pytest.mark.parametrize(("batch", "length"), [(1, 40), (3, 32), (2, 8)])
def test_the_fixed_samples_give_the_reference_at_any_shape(batch: int, length: int) -> None:
    job = torch_job(tiny_decoder())
    cell = other_shape(job, batch, length)
    result = compared(job, cell)
    assert result["correct"], result
    wrong = compared(job, cell, change=0.01)
    assert wrong["correct"] is False
    assert wrong["tolerance_share"] > 1


def test_padding_hides_what_follows_from_a_model_that_looks_ahead() -> None:
    job = torch_job(find("bert-micro"))
    query = timed_query(job, other_shape(job, 3, 48))
    assert query is not None
    assert query["input_ids"].shape == (3, 48)
    assert query["attention_mask"].sum(axis=1).tolist() == [32, 32, 32]
    np.testing.assert_array_equal(query["input_ids"][0, :32], query["input_ids"][2, :32])
    assert timed_query(job, other_shape(job, 3, 16)) is None
    assert timed_query(job, other_shape(job, 2, 32)) is None


LOGITS = np.ones((2, 32, 4), np.float32)
OF_DECODING = {"second.logits": LOGITS, STEPS: LOGITS, GENERATED_TOKENS: LOGITS}


@pytest.mark.parametrize(
    ("outputs", "reference", "correct"),
    [
        ({"logits": np.ones((3, 40, 4))}, {"logits": LOGITS, **OF_DECODING}, True),
        ({"logits": np.ones((3, 40, 4))}, {"logits": LOGITS, "pooled": LOGITS[:, 0]}, False),
        ({"logits": np.ones((3, 40, 4)), "pooled": np.ones((3, 4))}, {"logits": LOGITS}, False),
        ({"logits": np.ones((2, 40, 4))}, {"logits": LOGITS}, False),
        ({"logits": np.ones((3, 40))}, {"logits": LOGITS}, False),
        (
            {"logits": np.ones((3, 40, 4)), "patches": np.ones((7, 4))},
            {"patches": LOGITS[0]},
            False,
        ),
        (
            {"logits": np.ones((3, 40, 4)), "patches": np.ones((7, 4))},
            {"logits": LOGITS, "patches": LOGITS[0]},
            True,
        ),
        ({"patches": np.ones((7, 4))}, {"patches": LOGITS[0]}, None),
    ],
)
def test_an_output_or_a_sample_that_one_side_lacks_is_wrong(
    outputs: Any, reference: Any, correct: bool | None
) -> None:
    job = torch_job(tiny_decoder())
    answers: Any = SimpleNamespace(bind=lambda *_: lambda: outputs, arrays=lambda given: given)
    allowed = allowed_differences(reference, "fp32")
    columns = compare_timed(answers, job, other_shape(job, 3, 40), reference, allowed) or {}
    assert columns.get("correct") is correct


@pytest.mark.slow
@pytest.mark.parametrize("name", model_sets()["micro"])
def test_every_architecture_answers_alike_at_another_shape(name: str) -> None:
    job = torch_job(find(name))
    result = compared(job, other_shape(job, 3, 40))
    assert result["correct"], result


@pytest.mark.parametrize(
    ("changes", "columns", "compiled"),
    [
        ({"runtime": "torch"}, {}, False),
        ({"runtime": "torch_compile"}, {}, True),
        ({"runtime": "torch_compile", "mode": "startup"}, {}, True),
        ({"runtime": "torch", "mode": "startup"}, {}, False),
        ({"runtime": "torch_compile", "mode": "training"}, {}, False),
        ({"runtime": "onnxruntime"}, {"graph": "key/dynamic"}, False),
        ({"runtime": "onnxruntime"}, {"graph": "key/b3-s40"}, True),
        ({"runtime": "openvino", "backend": "openvino"}, {"graph": "key/dynamic"}, True),
        ({"runtime": "onnxruntime", "backend": "qnn"}, {"graph": "key/dynamic"}, True),
        ({"runtime": "openvino", "backend": "openvino"}, {"execution_options": STATIC}, True),
        *(
            (
                {"runtime": "onnxruntime_web", "backend": backend},
                {"graph": "key/dynamic", "execution_options": OF_PAGES},
                True,
            )
            for backend in ("wasm", "webgpu", "webnn")
        ),
    ],
)
def test_shapes_are_compared_where_each_is_a_program_of_its_own(
    changes: dict[str, Any], columns: dict[str, Any], compiled: bool
) -> None:
    cell = fake_cell(**{"backend": "cpu", **changes})
    assert is_compiled_for(cell, columns) is compiled
