"""Work of models that cannot be counted, by that of a counted one of their architecture."""

import pytest

from analysis.predict.examples.work import sibling_work
from runner.contract.models import find
from runner.contract.models.work import catalogued_polynomials

BERT = find("bert-base-uncased")
TERM = "batch_size*sequence_length"


def test_the_same_sizes_have_the_same_work() -> None:
    work = sibling_work(BERT.model_copy(update={"name": "mine"}))
    assert work is not None
    assert work.sibling == BERT.name
    assert work.polynomials == catalogued_polynomials(BERT)


@pytest.mark.parametrize(
    ("config", "macs", "activations"),
    [({"num_hidden_layers": 24}, 2, 2), ({"hidden_size": 1536}, 4, 2)],
)
def test_work_grows_by_layers_and_width(
    config: dict[str, object], macs: float, activations: float
) -> None:
    work = sibling_work(BERT.model_copy(update={"name": "mine", "config": BERT.config | config}))
    known = catalogued_polynomials(BERT)
    assert work is not None
    assert known is not None
    assert work.sibling == BERT.name
    for name, factor in (("macs", macs), ("activations", activations), ("outputs", 1)):
        assert work.polynomials[name][TERM] == pytest.approx(factor * known[name][TERM])


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"model_type": "bert"}},
        {"config": {**BERT.config, "model_type": "swin"}},
        {"architecture": "AutoModelForCausalLM"},
    ],
)
def test_models_without_sizes_or_of_another_kind_have_none(changes: dict[str, object]) -> None:
    assert sibling_work(BERT.model_copy(update={"name": "mine", **changes})) is None
