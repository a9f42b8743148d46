"""An evaluation beside its predictor: bounded, the same every time, and read with care."""

import json
from typing import Any

import pytest

from analysis.predict.manifest import (
    EVALUATION_NAME,
    MOST_ANSWERS,
    MOST_MISSES,
    kept_trial,
    parse_evaluation,
)
from analysis.predict.trials import NoveltyTrial, PredictionTrial
from runner.contract.errors import DamagedFile
from tests.analysis.predict.examples import an_answer, an_evaluation

ANSWER = ("targets", "latency", "pair", "answers", 0)


def changed(*path: str | int, value: Any) -> str:
    data = json.loads(an_evaluation().model_dump_json())
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(data)


def many(count: int) -> NoveltyTrial:
    """A trial of so many answers, each farther off than the one before."""
    answers = tuple(an_answer(1.0, 1.0 + number / count) for number in range(count))
    return NoveltyTrial("pair", PredictionTrial(answers, {"why": 2}), groups=7, folds=(1, 5))


def test_an_evaluation_is_read_as_it_was_written() -> None:
    evaluation = an_evaluation()
    assert parse_evaluation(evaluation.model_dump_json()) == evaluation
    (good, bad) = evaluation.targets["latency"]["pair"].answers
    assert (good.error, good.held) == (pytest.approx(0.08), True)
    assert (bad.held, bad.outside) == (False, ("batch size 16 is above 8",))


def test_of_many_answers_a_drawn_part_is_kept_and_the_worst_of_all() -> None:
    count = 3 * MOST_ANSWERS
    kept, again = (kept_trial(many(count)) for _ in range(2))
    assert kept is not None
    assert kept == again
    assert (kept.questions, kept.groups, kept.refused) == (count, 7, 2)
    assert len(kept.answers) == MOST_ANSWERS
    assert 0.4 < sum(one.error for one in kept.answers) / MOST_ANSWERS < 0.6
    worst = [1 - number / count for number in range(1, MOST_MISSES + 1)]
    assert [one.error for one in kept.misses] == pytest.approx(worst)
    assert kept.baselines == {"ridge": pytest.approx(1.0)}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        (changed("version", value=9), "version: Input should be 1"),
        (changed("more", value=1), "more"),
        (changed("targets", value={"speed": {}}), "'speed' is no target"),
        (changed(*ANSWER, "backend", value="abacus"), "backend"),
        (changed(*ANSWER, "measured", value=0), "measured"),
        (changed(*ANSWER, "high", value=1e300), "high"),
        (changed(*ANSWER[:3], "coverage", value=1.5), "coverage"),
        (changed(*ANSWER[:4], value=[{}] * (MOST_ANSWERS + 1)), "answers"),
    ],
)
def test_another_content_is_refused_with_its_place(text: str, fault: str) -> None:
    with pytest.raises(DamagedFile) as refusal:
        parse_evaluation(text)
    assert EVALUATION_NAME in str(refusal.value)
    assert fault in str(refusal.value)
