"""MLPerf inference's `mlperf_log_summary.txt`, as its loadgen writes it.

The path of a submission alone names the model: `<system>/<model>/<scenario>/performance/run_1/`.
By MLPerf's own rules, the numbers of a result that is INVALID do not count: it is a failure.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.measurement import is_null
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import quote

_HEADING = "MLPerf Results Summary"
_SECTIONS = frozenset({"Additional Stats", "Test Parameters Used", "Per-query latency:"})
_UNKNOWN_MODEL = "unknown"
_SCENARIOS = {
    "singlestream": "single_stream",
    "multistream": "multi_stream",
    "offline": "offline",
    "server": "server",
}
_FOLDERS = {"interactive": "server"}
_RUN_FOLDER = re.compile(r"run_\d+|performance|TEST\d+(?:-[A-Z])?")
_ENDS = re.compile(r"^(?:No|\d+) (?:warnings?|errors?) encountered", re.IGNORECASE | re.MULTILINE)
_ERRORS = re.compile(r"^\d+ ERRORS? encountered.*$", re.MULTILINE)
_PERMUTED = "sample_concatenate_permutation"
_LATENCIES = {
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
_PER_TOKEN = ("Mean Time per Output Token (ns)", "Mean Time to Output Token (ns)")
_RATES = {
    "offline": ("Samples per second", "Tokens per second"),
    "server": ("Completed samples per second", "Completed tokens per second"),
    "single_stream": ("QPS w/ loadgen overhead", "TPS w/ loadgen overhead"),
}


@dataclass
class _LogSummary:
    """The lines of one summary."""

    location: str
    values: dict[str, str] = field(default_factory=dict)
    """Text before and after the colons; the first of several equal names counts."""
    recommendations: list[str] = field(default_factory=list)
    """Advice of loadgen to get a valid result."""
    notes: list[str] = field(default_factory=list)
    advises: bool = False
    """True while lines of advice follow each other."""

    def add(self, line: str) -> None:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if line == "Recommendations:" or name.endswith("Early Stopping Result"):
            self.advises = name == "Recommendations"
            return
        self.advises &= line.startswith("*")
        if line.startswith("*"):
            (self.recommendations if self.advises else self.notes).append(line.lstrip("* "))
        elif colon and value and not name.isupper():
            self.values.setdefault(name, value)
        else:
            self.notes.append(line)


def _summaries(text: str) -> list[_LogSummary]:
    summaries: list[_LogSummary] = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped == _HEADING:
            summaries.append(_LogSummary(f"line {number}"))
        elif summaries and stripped.strip("=") and stripped not in _SECTIONS:
            summaries[-1].add(stripped)
    return summaries


class MLPerf:
    """The format of MLPerf inference's loadgen."""

    name = "mlperf-loadgen"
    source = "mlperf-inference"

    def recognises(self, document: Document) -> bool:
        text = document.text or ""
        return bool(_summaries(text)) or bool(_ENDS.match(text.lstrip()))

    def read(self, document: Document) -> Reading:
        text = document.text or ""
        errors = _ERRORS.search(text)
        problem = f", though {errors[0]}" if errors else ""
        entries = (_entry(summary, document.path, text) for summary in _summaries(text))
        return gather(entries, f"a log of loadgen without results, as accuracy runs leave{problem}")


def _entry(summary: _LogSummary, path: Path, text: str) -> FileEntry:
    entry = FileEntry(summary.location)
    name = summary.values.get("Scenario", "")
    scenario = _SCENARIOS.get(name.replace(" ", "").lower(), "")
    if not scenario:
        entry.fault("Scenario", f"{quote(name)} is not one of {', '.join(_SCENARIOS.values())}")
    entry.set(scenario=scenario)
    _status(entry, summary, text)
    entry.mark(*marks_in(summary.values, summary.location))
    _model(entry, path, scenario)
    _measure(entry, summary, scenario)
    for key, value in summary.values.items():
        entry.detail(key, value)
    entry.detail("notes", [*summary.notes, *_ERRORS.findall(text)])
    return entry


def _status(entry: FileEntry, summary: _LogSummary, text: str) -> None:
    result = summary.values.get("Result is")
    errors = _ERRORS.search(text)
    if result is None:
        entry.fault("Result is", "is missing, as if the file ended too early")
    elif result not in {"VALID", "INVALID"}:
        entry.fault("Result is", f"{quote(result)} is neither VALID nor INVALID")
    elif result == "VALID" and errors is None:
        entry.set(status="ok")
    else:
        unmet = [f"{name}: NO" for name, value in summary.values.items() if value == "NO"]
        reasons = [*unmet, *summary.recommendations, *([errors[0]] if errors else [])]
        entry.set(status="failed", reason="\n".join([f"loadgen: the result is {result}", *reasons]))


def _model(entry: FileEntry, path: Path, scenario: str) -> None:
    entry.set(model=_UNKNOWN_MODEL)
    passed: set[str] = set()
    for folder in path.absolute().parents:
        if not _RUN_FOLDER.fullmatch(folder.name):
            name = folder.name.lower()
            if _FOLDERS.get(name, _SCENARIOS.get(name)) == scenario and "performance" in passed:
                entry.set(model=folder.parent.name or _UNKNOWN_MODEL)
                entry.detail("path.system", folder.parent.parent.name)
            return
        passed.add(folder.name)


def _measure(entry: FileEntry, summary: _LogSummary, scenario: str) -> None:
    values = summary.values
    for column, name in _LATENCIES.items():
        entry.number(column, name, values.get(name), "ns")
    for name in _PER_TOKEN:
        entry.number("time_per_output_token_mean_s", name, values.get(name), "ns")
    samples, tokens = _RATES.get(scenario, ("", ""))
    entry.number("throughput", samples, values.get(samples))
    entry.number("token_throughput", tokens, values.get(tokens))
    if scenario != "offline" and not any(_PERMUTED in note for note in summary.notes):
        entry.number("batch_size", "samples_per_query", values.get("samples_per_query"))
    entry.set(mode="inference" if is_null(values.get(tokens)) else "generation")
