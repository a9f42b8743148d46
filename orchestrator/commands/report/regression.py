"""The report on regressions, with the sentences that `regress` prints below its table."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.cells import verdicts_by_metric
from orchestrator.commands.regress.sentences import (
    accepted_lines,
    circumstance_lines,
    metric_answers,
    trust_lines,
)
from orchestrator.commands.report.answer import MadeReport


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
