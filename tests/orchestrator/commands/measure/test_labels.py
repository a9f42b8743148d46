"""`--runs-on` names the labels of one's own runners."""

import pytest

from orchestrator.commands.measure.pipelines.labels import RUNNER_LABELS, parse_runner_labels
from runner.contract.errors import UsageError


def test_labels_named_take_the_place_of_ours() -> None:
    labels = parse_runner_labels(["cpu=self-hosted, bench1", "mps=mac"])
    assert labels["cpu"] == ["self-hosted", "bench1"]
    assert labels["mps"] == ["mac"]
    assert labels["cuda"] == RUNNER_LABELS["cuda"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpu", "'cpu' is not BACKEND=LABEL,LABEL"),
        ("cpu=", "'cpu=' is not BACKEND=LABEL,LABEL"),
        ("cpu=a,,b", "is not BACKEND=LABEL,LABEL"),
        ("cpy=a", "backend 'cpy' is unknown; did you mean cpu?"),
    ],
)
def test_other_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        parse_runner_labels([text])
