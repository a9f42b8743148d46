"""The grid of runtimes: its parts, and when a point keeps what is promised."""

import json
import math
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
    faults = (3.0, 4.0, 8.0)
    rounds = [runtimes.Round(math.log(ratio), tool_s, count) for count in faults]
    assert runtimes.report("bert-tiny", torch_job("bert-tiny"), rounds) is held
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (data["ratio"], data["held"], data["page_faults"]) == (ratio, held, 4.0)


@pytest.mark.parametrize(
    ("ratios", "is_open"),
    [((1.0, 1.001, 0.999), False), ((1.2, 1.201, 1.199), False), ((1.02, 1.06, 1.0), True)],
)
def test_a_point_takes_more_rounds_while_their_interval_holds_an_end_of_the_promise(
    ratios: tuple[float, ...], is_open: bool
) -> None:
    rounds = [runtimes.Round(math.log(ratio), 0.01, 0.0) for ratio in ratios]
    assert runtimes.is_open(rounds) is is_open
    assert runtimes.is_open([])
    assert not runtimes.is_open(rounds * (runtimes.LOOKS[-1] // 3))
