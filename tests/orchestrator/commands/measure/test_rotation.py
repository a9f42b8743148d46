"""Shares of models: every model is in one of them, whatever else the matrix has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.commands.measure.pipelines.jobs import pipeline_jobs
from orchestrator.commands.measure.pipelines.rotation import EVERYTHING, Share, share_of_models
from orchestrator.planning.plan import make_plan
from runner.contract.errors import UsageError
from tests.support.matrices import matrix_of


@given(st.text(min_size=1), st.integers(1, 60))
def test_each_model_is_in_one_share(model: str, shares: int) -> None:
    keeping = [number for number in range(1, shares + 1) if Share(number, shares).keeps(model)]
    assert len(keeping) == 1


def test_the_shares_of_a_plan_are_the_plan() -> None:
    models = ["bert-tiny", "gpt2", "vit-base", "t5-small", "opt-125m"]
    plan = make_plan(matrix_of({"model": models, "batch_size": [1, 2]}))
    labels = {"cpu": ["cpu"]}
    whole = {job.name: job.cells for job in pipeline_jobs(plan, labels, 256)}
    parts = [pipeline_jobs(plan, labels, 256, Share(number, 3)) for number in (1, 2, 3)]
    assert {job.name: job.cells for part in parts for job in part} == whole
    assert sum(map(len, parts)) == len(models)


@pytest.mark.parametrize(
    ("text", "share"),
    [(None, EVERYTHING), ("1/1", EVERYTHING), ("3/7", Share(3, 7)), ("7/7", Share(7, 7))],
)
def test_a_share_is_named_by_its_number_and_theirs(text: str | None, share: Share) -> None:
    assert share_of_models(text) == share


@pytest.mark.parametrize("text", ["", "3", "0/7", "8/7", "a/b", "1/0", "1/2/3", "-1/2", "1 / 2"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not NUMBER/SHARES"):
        share_of_models(text)
