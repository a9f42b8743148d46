"""The grid of runtimes: its parts, and when a point keeps what is promised."""

import json
from pathlib import Path

import pytest

from performance import runtimes
from performance.sessions import torch_job
from runner.contract.job import Job


@pytest.mark.parametrize(
    ("words", "points"),
    [
        (["bert-tiny", "openvino", "4"], [("bert-tiny", "openvino", ["4"])]),
        (
            [],
            [
                (model, runtime, list(runtimes.BATCHES))
                for model in runtimes.MODELS
                for runtime in runtimes.RUNTIMES
            ],
        ),
    ],
    ids=["a point", "all"],
)
def test_words_name_a_part_of_the_grid(
    monkeypatch: pytest.MonkeyPatch, words: list[str], points: list[tuple[str, str, list[str]]]
) -> None:
    parts: list[tuple[str, str, list[str]]] = []

    def note(model: str, runtime: str, batches: list[str], folder: Path) -> list[tuple[Job, float]]:
        assert folder.is_dir()
        parts.append((model, runtime, list(batches)))
        return []

    monkeypatch.setattr(runtimes, "prepared", note)
    assert runtimes.main(words) == 0
    assert parts == points


def test_a_word_that_names_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert runtimes.main(["bert-tiny", "openvine"]) == 2
    assert capsys.readouterr().out.startswith("openvine: neither a model")


@pytest.mark.parametrize(
    ("ratio", "tool_s", "held"),
    [(1.02, 0.01, True), (0.96, 0.01, False), (1.04, 0.0009, True), (1.06, 0.0009, False)],
)
def test_a_point_is_within_what_is_promised_for_its_length(
    capsys: pytest.CaptureFixture[str], ratio: float, tool_s: float, held: bool
) -> None:
    outlier = (2 * tool_s, tool_s, None)
    points = [(ratio * tool_s, tool_s, 3.0), outlier, (ratio * tool_s, tool_s, 5.0)]
    assert runtimes.report("bert-tiny", torch_job("bert-tiny"), points) is held
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (data["ratio"], data["held"]) == (ratio, held)


@pytest.mark.parametrize(
    ("ratios", "is_open"),
    [((1.0, 1.01, 0.99), False), ((1.2, 1.21, 1.19), False), ((1.02, 1.06, 1.0), True)],
)
def test_a_point_takes_more_pairs_while_their_interval_holds_the_promise(
    ratios: tuple[float, ...], is_open: bool
) -> None:
    assert runtimes.is_open([(ratio * 0.01, 0.01, None) for ratio in ratios]) is is_open
