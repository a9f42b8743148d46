"""The report on regressions, with the sentences that `regress` prints below its table."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.app.results.reports import MadeReport
from orchestrator.app.results.verdicts import RegressionAnswer
from orchestrator.render.regressions.cells import verdicts_by_metric
from orchestrator.render.regressions.sentences import (
    accepted_lines,
    circumstance_lines,
    metric_answers,
    trust_lines,
)


def with_verdict_sentences(outcome: MadeReport) -> MadeReport:
    """The report with the answer to its question before what it says already.

    Steps, and cells that cannot be compared, stand in its tables.
    """
    if outcome.verdicts is None:
        return outcome
    answers = [*_sentences(outcome.verdicts), *outcome.report.answers]
    return replace(outcome, report=replace(outcome.report, answers=answers))


def _sentences(answer: RegressionAnswer) -> Iterator[str]:
    yield from metric_answers(answer, list(verdicts_by_metric(answer)))
    yield from circumstance_lines(answer)
    yield from accepted_lines(answer)
    yield from trust_lines(answer)
