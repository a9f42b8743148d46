"""The result of a merge: counts, whose records they are, where they went and what to do next."""

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from orchestrator.screen.lines import own_name, print_command, print_json, print_line
from orchestrator.store.merge.report import MergeReport
from orchestrator.system.files import database_option
from orchestrator.system.text import escape_control_line, plural

_NAMED = 5


def print_merged(report: MergeReport, database: Path, *, as_json: bool) -> None:
    """Print how many records were new, newer or known; as JSON with those left out."""
    if as_json:
        print_json(merged_data(report, database))
        return
    for line in _lines(report, database):
        print_line(line)
    if report.hosts:
        print_line("next:")
        option = database_option(database)
        print_command(shlex.join([own_name(), "query", "latest_results", *option]))


def merged_data(report: MergeReport, database: Path) -> dict[str, object]:
    """The counts and what was left out, as JSON has them."""
    damaged = [{"file": file.path, "reason": file.reason} for file in report.damaged]
    left = {"damaged": damaged, "refused": report.refused, "contradicted": report.contradicted}
    return {**_counts(report), **left, "hosts": _by_host(report), "database": database}


def _counts(report: MergeReport) -> dict[str, int]:
    return {
        "inserted": report.inserted,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        **({"in quarantine": report.quarantined} if report.quarantined else {}),
    }


def _lines(report: MergeReport, database: Path) -> Iterator[str]:
    summary = ", ".join(f"{count:,} {word}" for word, count in _counts(report).items())
    if report.is_empty:
        yield f"{summary}: nothing was merged into {database}"
        return
    yield summary
    hosts = _by_host(report)
    if not hosts:
        yield f"database: {database} had all of them"
        return
    names = [
        f"{count:,} {plural(count, 'record')} from {escape_control_line(name)}"
        for name, count in hosts.items()
    ]
    more = f" and {len(names) - _NAMED} more hosts" if len(names) > _NAMED else ""
    yield f"{', '.join(names[:_NAMED])}{more} into {database}"


def _by_host(report: MergeReport) -> dict[str, int]:
    """Records by host, most first."""
    counts: Counter[str] = Counter()
    for name, count in report.hosts:
        counts[name] += count
    return dict(counts.most_common())
