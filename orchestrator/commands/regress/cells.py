"""Cells of verdicts as people read them: what tells them apart, and what they have in common."""

from collections.abc import Callable, Iterator, Sequence

from analysis.compare.values import PART
from analysis.regress.judgements import REGRESSION_VERDICTS, Judgement
from analysis.results.differing import (
    WORK,
    are_distinct,
    fact_words,
    fewest_facts,
    question_names,
    shared_words,
)
from analysis.results.metrics import Metric
from orchestrator.commands.regress.answer import RegressionAnswer

CELL = "cell_id"
"""The fact that names a cell where nothing shorter does."""


class MetricVerdicts:
    """The verdicts on one metric, with short names of their cells."""

    def __init__(self, metric: Metric, judgements: Sequence[Judgement]) -> None:
        self.metric = metric
        self.judgements = judgements
        """In the order of `VERDICTS`, the greatest change first."""
        self.judged = [one for one in judgements if one.verdict != "not comparable"]
        self.by_verdict = {
            verdict: [one for one in judgements if one.verdict == verdict]
            for verdict in REGRESSION_VERDICTS
        }
        self.columns = _telling([one for one in self.judged if one.before or one.after])
        """The fewest facts that tell the judged results apart."""
        if any(not (one.before or one.after) for one in self.judged):
            self.columns = (CELL,)

    @property
    def shared(self) -> str:
        """The facts that all judged results share, in words."""
        facts = [one.facts for one in self.judged]
        return "" if self.columns == (CELL,) or not facts else shared_words(facts, WORK)

    def name(self, judgement: Judgement) -> str:
        """The name of a cell in a sentence; empty where it is the only one."""
        if judgement.verdict == "not comparable":
            return judgement.cell_id
        facts = {name: judgement.facts.get(name) for name in self.columns}
        return " ".join(fact_words(facts))


def _telling(judgements: Sequence[Judgement]) -> Sequence[str]:
    """The facts that tell judgements apart, without those that the ones before them replace."""
    facts = [one.facts for one in judgements]
    names = question_names(facts)
    return fewest_facts(facts, names) if are_distinct(facts, names) else (CELL,)


def verdicts_by_metric(answer: RegressionAnswer) -> Iterator[MetricVerdicts]:
    """The verdicts of each metric, in the order in which metrics were asked for."""
    judgements = answer.judgements.judgements
    for metric in dict.fromkeys(
        one.metric for one in sorted(judgements, key=_metric_order(answer))
    ):
        yield MetricVerdicts(metric, [one for one in judgements if one.metric == metric])


def _metric_order(answer: RegressionAnswer) -> Callable[[Judgement], int]:
    names = list(answer.request.metrics)
    return lambda one: names.index(one.metric.name) if one.metric.name in names else len(names)


def full_name(judgement: Judgement) -> str:
    """The cell's id, with the part of its result where that has several."""
    part = judgement.facts.get(PART)
    return f"{judgement.cell_id}, {part}" if part else judgement.cell_id
