"""MLPerf inference's `mlperf_log_summary.txt`, as its loadgen writes it.

A summary names a system under test, no model: that stands in the path of a submission alone,
`<system>/<model>/<scenario>/performance/run_1/`, and is otherwise told as `unknown`. A result that
loadgen calls INVALID has the status `failed`, with the conditions that were not satisfied as its
reason: by MLPerf's own rules its numbers do not count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.imports.document import Document
from orchestrator.imports.entry import Entry
from orchestrator.imports.formats.base import Reading
from orchestrator.imports.gathering import Gathering
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import says_nothing
from orchestrator.system.problems import quote

HEADING = "MLPerf Results Summary"
SECTIONS = frozenset({"Additional Stats", "Test Parameters Used", "Per-query latency:"})


@dataclass
class Summary:
    """One summary's lines."""

    place: str
    """The line of its heading."""
    values: dict[str, str] = field(default_factory=dict)
    """What stands before and behind the colons; the first of several equal names counts."""
    recommendations: list[str] = field(default_factory=list)
    """What loadgen advises so that the next result is valid."""
    notes: list[str] = field(default_factory=list)
    """All other text."""


def summaries(text: str) -> Iterator[Summary]:
    """The summaries of a file, in order."""
    summary: Summary | None = None
    advice = False
    for number, line in enumerate(text.splitlines(), start=1):
        told = line.strip()
        if told == HEADING:
            if summary is not None:
                yield summary
            summary = Summary(f"line {number}")
        elif summary is not None and told.strip("=") and told not in SECTIONS:
            advice = _add(summary, told, advice)
    if summary is not None:
        yield summary


def _add(summary: Summary, line: str, advice: bool) -> bool:
    """Whether advice goes on behind this line."""
    name, colon, value = (part.strip() for part in line.partition(":"))
    if line == "Recommendations:" or name.endswith("Early Stopping Result"):
        return name == "Recommendations"
    if line.startswith("*"):
        (summary.recommendations if advice else summary.notes).append(line.lstrip("* "))
    elif colon and value and not name.isupper():
        summary.values.setdefault(name, value)
    else:
        summary.notes.append(line)
    return advice and line.startswith("*")


UNKNOWN_MODEL = "unknown"
SCENARIOS = {
    "singlestream": "single_stream",
    "multistream": "multi_stream",
    "offline": "offline",
    "server": "server",
}
FOLDERS = {"interactive": "server"}
RUN_FOLDER = re.compile(r"run_\d+|performance|TEST\d+(?:-[A-Z])?")
ENDS = re.compile(r"^(?:No|\d+) (?:warnings?|errors?) encountered", re.IGNORECASE | re.MULTILINE)
ERRORS = re.compile(r"^\d+ ERRORS? encountered.*$", re.MULTILINE)
PERMUTED = "sample_concatenate_permutation"
LATENCIES = {
    "latency_min_s": "Min latency (ns)",
    "latency_max_s": "Max latency (ns)",
    "latency_mean_s": "Mean latency (ns)",
    "latency_p50_s": "50.00 percentile latency (ns)",
    "latency_p90_s": "90.00 percentile latency (ns)",
    "latency_p95_s": "95.00 percentile latency (ns)",
    "latency_p99_s": "99.00 percentile latency (ns)",
    "latency_p999_s": "99.90 percentile latency (ns)",
    "time_to_first_token_mean_s": "Mean First Token latency (ns)",
}
PER_TOKEN = ("Mean Time per Output Token (ns)", "Mean Time to Output Token (ns)")
RATES = {
    "offline": ("Samples per second", "Tokens per second"),
    "server": ("Completed samples per second", "Completed tokens per second"),
    "single_stream": ("QPS w/ loadgen overhead", "TPS w/ loadgen overhead"),
}


class MLPerf:
    """The format of MLPerf inference's loadgen."""

    name = "mlperf-loadgen"
    source = "mlperf-inference"

    def recognises(self, document: Document) -> bool:
        """Whether loadgen's heading stands in it, or the lines that end each of its logs."""
        text = document.text or ""
        return any(summaries(text)) or bool(ENDS.match(text.lstrip()))

    def read(self, document: Document) -> Reading:
        """One measurement for each summary.

        Raises:
            NotReadable: a summary is not whole, or its values cannot be read.
        """
        text = document.text or ""
        gathering = Gathering()
        for summary in summaries(text):
            gathering.take(_entry(summary, document.path, text))
        errors = ERRORS.search(text)
        told = f", though {errors[0]}" if errors else ""
        return gathering.reading(f"a log of loadgen without results, as accuracy runs leave{told}")


def _entry(summary: Summary, path: Path, text: str) -> Entry:
    entry = Entry(summary.place)
    scenario = _scenario(entry, summary)
    _verdict(entry, summary, text)
    entry.mark(*marks_in(summary.values, summary.place))
    _model(entry, path, scenario)
    _measure(entry, summary, scenario)
    for name, value in summary.values.items():
        entry.detail(name, value)
    entry.detail("notes", [*summary.notes, *ERRORS.findall(text)])
    return entry


def _scenario(entry: Entry, summary: Summary) -> str:
    told = summary.values.get("Scenario", "")
    scenario = SCENARIOS.get(told.replace(" ", "").lower(), "")
    if not scenario:
        entry.fault("Scenario", f"{quote(told)} is not one of {', '.join(SCENARIOS.values())}")
    entry.set(scenario=scenario)
    return scenario


def _verdict(entry: Entry, summary: Summary, text: str) -> None:
    result = summary.values.get("Result is")
    errors = ERRORS.search(text)
    if result is None:
        entry.fault("Result is", "is missing, as if the file ended too early")
    elif result not in {"VALID", "INVALID"}:
        entry.fault("Result is", f"{quote(result)} is neither VALID nor INVALID")
    elif result == "VALID" and errors is None:
        entry.set(status="ok")
    else:
        unmet = [f"{name}: NO" for name, value in summary.values.items() if value == "NO"]
        told = [*unmet, *summary.recommendations, *([errors[0]] if errors else [])]
        entry.set(status="failed", reason="\n".join([f"loadgen: the result is {result}", *told]))


def _model(entry: Entry, path: Path, scenario: str) -> None:
    entry.set(model=UNKNOWN_MODEL)
    passed: set[str] = set()
    for folder in path.absolute().parents:
        if not RUN_FOLDER.fullmatch(folder.name):
            told = FOLDERS.get(folder.name.lower(), SCENARIOS.get(folder.name.lower()))
            if told == scenario and "performance" in passed:
                entry.set(model=folder.parent.name or UNKNOWN_MODEL)
                entry.detail("path.system", folder.parent.parent.name)
            return
        passed.add(folder.name)


def _measure(entry: Entry, summary: Summary, scenario: str) -> None:
    values = summary.values
    for column, name in LATENCIES.items():
        entry.number(column, name, values.get(name), "ns")
    for name in PER_TOKEN:
        entry.number("time_per_output_token_mean_s", name, values.get(name), "ns")
    samples, tokens = RATES.get(scenario, ("", ""))
    entry.number("throughput", samples, values.get(samples))
    entry.number("token_throughput", tokens, values.get(tokens))
    if scenario != "offline" and not any(PERMUTED in note for note in summary.notes):
        entry.number("batch_size", "samples_per_query", values.get("samples_per_query"))
    entry.set(mode="inference" if says_nothing(values.get(tokens)) else "generation")
