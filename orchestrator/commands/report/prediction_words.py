"""The report on a predictor, with the sentences that `predict show` prints below its table."""

from dataclasses import replace

from analysis.report.predictions import unevaluated_words
from orchestrator.commands.predict.words import predictor_sentences
from orchestrator.commands.report.answer import MadeReport
from orchestrator.commands.report.prediction import ReportedPredictor


def with_predictor_sentences(reported: ReportedPredictor) -> MadeReport:
    """The report with what the predictor rests on before what it says already."""
    outcome = reported.outcome
    command = reported.unevaluated
    unevaluated = [unevaluated_words(command)] if command else []
    answers = [*predictor_sentences(reported.shown), *unevaluated, *outcome.report.answers]
    return replace(outcome, report=replace(outcome.report, answers=answers))
