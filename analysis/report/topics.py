"""Topics of reports: which sections each has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.charts.topics import charts_of
from analysis.report.cells import marks_sentences, shared_facts
from analysis.report.comparisons import comparison_table
from analysis.report.details import result_details
from analysis.report.parts import part_table
from analysis.report.ratings import family_section, rating_section
from analysis.report.report import Report, ReportSection, table_section
from analysis.report.results import RememberedAnswers, ReportedResults, reported_results
from analysis.report.shared import grades_of, shared_sections
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource

_THROUGHPUT = METRICS["throughput"]
Sections = Callable[[ReportedResults], Sequence[ReportSection]]


@dataclass(frozen=True)
class ReportTopic:
    """A topic of reports: its title and its sections."""

    title: str
    sections: Sections
    """Its own sections, before those that every report has."""
    remedy: str
    """A command that measures what it is about, in words."""
    condition: str = "true"
    """Results that it is about, as a condition in SQL."""


def make_report(topic: str, source: ArrowSource, selection: Selection) -> Report:
    """The report on a topic, from the results of a selection.

    Raises:
        BenchError: the database cannot be read.
    """
    chosen = REPORT_TOPICS[topic]
    condition = f"({selection.condition}) AND {chosen.condition}"
    remembered = RememberedAnswers(source)
    results = reported_results(remembered, replace(selection, condition=condition))
    own = chosen.sections(results)
    sections = (
        ReportSection("charts", "Charts", charts=charts_of(topic, remembered, results.shown)),
        *own,
        *shared_sections(results),
    )
    return Report(
        topic=topic,
        title=chosen.title,
        facts=shared_facts(results.rows),
        answers=[
            *marks_sentences(results),
            *(answer for one in own for table in one.tables for answer in table.answers),
        ],
        sections=[section for section in sections if not section.is_empty],
        details=result_details(results),
        left_out=results.left_out,
        grades=grades_of(results),
    )


def _performance(results: ReportedResults) -> Sequence[ReportSection]:
    return (family_section(results), *_comparisons(results))


def _comparisons(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section(
            "compared",
            "Side by side",
            comparison_table(results, "backend", "Backends"),
            comparison_table(results, "runtime", "Runtimes"),
            comparison_table(results, "precision", "Precisions"),
            comparison_table(results, "mode", "Training beside inference"),
        ),
        table_section("training", "Training", part_table(results, "training_results")),
        table_section("arrivals", "Queries at a rate", part_table(results, "arrival_results")),
    )


def _hardware(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section("devices", "Devices", comparison_table(results, "hardware", "Side by side")),
        table_section("efficiency", "Use of the hardware", part_table(results, "efficiency")),
    )


def _compatibility(results: ReportedResults) -> Sequence[ReportSection]:
    return (rating_section(results),)


def _startup(results: ReportedResults) -> Sequence[ReportSection]:
    return (table_section("starts", "Starts", part_table(results, "startup_results")),)


def _scaling(results: ReportedResults) -> Sequence[ReportSection]:
    return (
        table_section(
            "batches",
            "Batches",
            comparison_table(results, "batch_size", "By batch", _THROUGHPUT),
            part_table(results, "offline_curve"),
        ),
        table_section(
            "lengths",
            "Lengths",
            comparison_table(results, "sequence_length", "By length", _THROUGHPUT),
        ),
        table_section(
            "threads",
            "Threads and workers",
            comparison_table(results, "threads", "Threads"),
            comparison_table(results, "workers", "Workers"),
        ),
    )


def _run(results: ReportedResults) -> Sequence[ReportSection]:
    return (*_comparisons(results), *_scaling(results), *_startup(results))


_MEASURE = "`orchestrator run matrix.yaml` or `orchestrator bench --model NAME` measures"
REPORT_TOPICS: Mapping[str, ReportTopic] = {
    "performance": ReportTopic("Performance", _performance, _MEASURE),
    "hardware": ReportTopic("Hardware", _hardware, _MEASURE),
    "compatibility": ReportTopic("Compatibility", _compatibility, _MEASURE),
    "startup": ReportTopic(
        "Starts",
        _startup,
        "`orchestrator bench --model NAME --mode startup` measures starts",
        "mode = 'startup'",
    ),
    "scaling": ReportTopic(
        "Scaling", _scaling, "`orchestrator bench --model NAME --batch-size 1,2,4,8` measures"
    ),
    "run": ReportTopic("Run", _run, _MEASURE),
}
