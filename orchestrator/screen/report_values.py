"""Values of reports as people read them, on pages and in Markdown."""

from datetime import UTC, datetime
from typing import Any

from analysis.report.report import Report, ReportColumn, ReportRow
from analysis.statistics.percentages import change_words, signed_percent
from analysis.statistics.ratios import Estimate
from orchestrator.screen.tables import cell_text
from orchestrator.system.text import plural


def value_text(column: ReportColumn, row: ReportRow) -> str:
    """A value of a table; a dash where there is none.

    An interval stands behind it, unless details show it.
    """
    text = _plain(column, row.get(column.name))
    low, high = row.get(column.low or ""), row.get(column.high or "")
    if column.measured or low is None or high is None:
        return text
    if column.kind == "change":
        return change_words(Estimate(float(row[column.name]), float(low), float(high)))
    ends = (_plain(column, low).removesuffix(" %"), _plain(column, high))
    return f"{text} ({' to '.join(ends)})"


def _plain(column: ReportColumn, value: Any) -> str:
    if value is None:
        return cell_text(None)
    if column.kind == "change":
        return f"{signed_percent(float(value) - 1)} %"
    if column.kind == "share":
        return f"{cell_text(100.0 * value)} %"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cell_text(value)


def left_out_words(report: Report) -> str:
    """A sentence about the results that a report leaves out."""
    count = f"{report.left_out:,} older {plural(report.left_out, 'result')}"
    return (
        f"{count} of this selection are left out; --model, --select, --since and the other filters"
        " choose what is shown."
    )
