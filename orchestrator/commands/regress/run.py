"""A run's results with the verdicts on them, at the end of a run that was compared."""

from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.document import regression_document
from orchestrator.commands.regress.output import print_verdicts
from orchestrator.commands.results.run_report import RunReport
from orchestrator.commands.results.run_words import print_results
from orchestrator.commands.results.table_options import TableOptions
from orchestrator.screen.lines import print_json, print_line


def compared_data(report: RunReport, verdicts: RegressionAnswer) -> dict[str, object]:
    """Results and verdicts as one piece of data."""
    return report.data() | {"verdicts": regression_document(verdicts)}


def print_compared(
    report: RunReport,
    verdicts: RegressionAnswer,
    *,
    as_json: bool,
    table: TableOptions,
    quiet: bool,
) -> None:
    """Print the run's results, and below them the verdicts; as data both are one.

    Args:
        report: the results.
        verdicts: those against a baseline.
        as_json: True for data alone.
        table: how the table of results looks.
        quiet: True for the tables and the verdicts alone.
    """
    if as_json:
        print_json(compared_data(report, verdicts))
        return
    print_results(report, as_json=False, table=table, quiet=quiet, is_last=False)
    print_line()
    print_verdicts(verdicts)
