"""torch.compile: what it costs is told, and what it cannot do."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch._inductor import config as inductor_config

from runner.backends.torch import backend as eager
from runner.backends.torch.compile import CompiledSession, open_session
from runner.contract.errors import Unsupported
from runner.inputs import Inputs, synthesise, synthesise_labels
from tests.support.fakes import FakeClock
from tests.support.tiny_models import DECODER, tiny, torch_cell, torch_job
from tests.support.words import raises_words

MODEL = tiny("AutoModelForCausalLM", {**DECODER, "n_embd": 8})
JOB = torch_job(MODEL, runtime="torch_compile")
CELL = JOB.cells[0]


def inputs_of(cell: Any = CELL) -> Inputs:
    return synthesise(MODEL, cell, 0)


@pytest.fixture(scope="module")
def session() -> Iterator[CompiledSession]:
    """One whose compiler isn't tried out for each instruction set of the CPU."""
    with (
        inductor_config.patch("cpp.vec_isa_ok", True),
        closing(open_session(JOB, threads=1)) as session,
    ):
        yield session


@pytest.mark.slow
def test_a_shape_is_compiled_at_its_first_query_in_a_time_that_is_told(
    session: CompiledSession,
) -> None:
    query = session.bind(CELL, inputs_of())
    assert session.columns["compile_time_s"] is None
    first = session.arrays(query())
    compiled = session.columns
    assert float(str(compiled["compile_time_s"])) > 0
    assert compiled["execution_options"] == {
        "backend": "inductor",
        "mode": "default",
        "dynamic": "False",
        "graphs": "1",
        "graph_breaks": "0",
    }
    again = session.arrays(query())
    assert session.columns == compiled
    with closing(eager.open_session(JOB, threads=1)) as plain:
        expected = plain.arrays(plain.bind(CELL, inputs_of())())
    assert np.allclose(first["logits"], expected["logits"], atol=1e-5)
    assert (first["logits"] == again["logits"]).all()


@pytest.mark.slow
def test_the_proof_tells_how_many_graphs_were_compiled_and_finds_tensors_elsewhere(
    session: CompiledSession,
) -> None:
    query = session.bind(CELL, inputs_of())
    proof, evidence = session.prove(query)
    assert (proof, evidence["graphs"]) == ("proven", "1")
    ids = query.arguments["input_ids"]
    query.arguments["input_ids"] = ids.to("meta")  # type: ignore[union-attr]
    proof, evidence = session.prove(query)
    assert (proof, evidence["inputs"]) == ("contradicted", "cpu+meta")


@pytest.mark.slow
def test_a_model_that_runs_eagerly_all_the_same_is_no_compiled_one() -> None:
    with closing(open_session(JOB, threads=1)) as session:
        session._model._compiled_call_impl = None
        with raises_words(Unsupported, match="the model runs eagerly"):
            session.prove(session.bind(CELL, inputs_of()))


@pytest.mark.slow
def test_every_new_cell_finds_cold_caches(session: CompiledSession) -> None:
    session.bind(CELL, inputs_of())
    before = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    session.bind(CELL, inputs_of())
    assert Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) == before
    other = torch_cell(MODEL, 5)
    session.bind(other, inputs_of(other))
    after = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert after != before
    assert (before.exists(), list(after.iterdir())) == (False, [])
    assert session.columns["compile_time_s"] is None


@pytest.mark.slow
@pytest.mark.nightly
def test_training_compiles_forward_and_backward() -> None:
    cell = torch_cell(MODEL, runtime="torch_compile", mode="training")
    batch = {**inputs_of(cell), **synthesise_labels(MODEL, cell, 0)}
    losses = []
    for open_ in (open_session, eager.open_session):
        with closing(open_(JOB, threads=1)) as session:
            with closing(session.bind_training(cell, batch, FakeClock())) as trainer:
                losses.append(trainer.step().loss)
                assert not trainer.unchanged()
            compiled = session.columns.get("compile_time_s")
            assert (compiled is not None) == (open_ is open_session)
    assert losses[0] == pytest.approx(losses[1], rel=0.05)  # they drop other elements


def test_generation_and_int8_are_refused_with_the_reason(session: CompiledSession) -> None:
    with raises_words(Unsupported, match="as the key-value cache grows"):
        session.bind_generation(CELL, inputs_of(), FakeClock())
    with raises_words(Unsupported, match="hold packed weights"):
        open_session(torch_job(MODEL, runtime="torch_compile", precision="int8"), threads=1)
