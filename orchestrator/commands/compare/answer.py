"""Comparisons of results by one property: what is asked, checked, and answered or refused."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from analysis.compare.compare import DEFAULT_METRICS, ComparisonBy, compare_selected
from analysis.compare.groups import groups_of
from analysis.compare.runs import RunComparison, compare_runs
from analysis.compare.values import SelectedValues, selected_values
from analysis.results.comparability import SCOPE
from analysis.results.metrics import Metric, metric_of
from analysis.results.selection import Selection
from analysis.results.series import DETERMINED
from analysis.results.synonyms import axis_of, meaning
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import open_sides
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.errors import NothingToDo, UsageError, refuse_unknown

PROPERTIES: tuple[str, ...] = tuple(DETERMINED)
"""Properties to compare by."""
_USUAL_METRIC = "latency"
_OTHER_WORDS: Mapping[str, str] = {
    "batch": "batch_size",
    "sequence": "sequence_length",
    "tokens": "sequence_length",
    "device": "hardware",
    "gpu": "hardware",
}
_MEASURING: Mapping[str, str] = {
    "backend": "--backend available",
    "runtime": "--runtime torch,onnxruntime",
    "precision": "--precision fp32,int8",
    "mode": "--mode inference,training",
    "batch_size": "--batch-size 1,2,4,8",
    "sequence_length": "--sequence-length 32,128",
    "threads": "--threads 1,2",
    "workers": "--mode startup --workers 1,2",
}
"""Options of `bench` that give results which differ in a property alone."""


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison by one property, as options name it."""

    selected: SelectionRequest
    by: str
    metric: str | None = None
    """A metric's short name or a column; None for the usual one of the property."""
    baseline: str | None = None
    across_hosts: bool = False


def compare_results(request: ComparisonRequest) -> ComparisonBy:
    """Compare the selected results by a property."""
    by = known_property(request.by)
    with request.selected.open() as (store, selection):
        metric = metric_of(request.metric or DEFAULT_METRICS.get(by, _USUAL_METRIC), store)
        compared = replace(selection, every=by == "run")
        comparison = compare_selected(
            *(store, compared, by, metric),
            baseline=_baseline(by, request.baseline),
            across_hosts=request.across_hosts,
        )
        if not comparison.groups:
            raise _refusal(store, compared, request, comparison)
    return comparison


def _baseline(by: str, word: str | None) -> str | None:
    """The value that a word stands for."""
    axis = axis_of(by)
    return meaning(axis, word) if axis and word else word


@dataclass(frozen=True)
class RunPairRequest:
    """A comparison of two runs, as options name it."""

    selected: SelectionRequest
    before: str
    """A word that `open_sides` takes: a run's id, `last`, a snapshot, a host, a path."""
    after: str
    metric: str | None = None
    across_hosts: bool = False


def compare_run_pair(request: RunPairRequest) -> RunComparison:
    """Compare two runs, or whatever else has results, cell by cell."""
    with open_sides(request.selected, request.before, request.after) as sides:
        metric = metric_of(request.metric or _USUAL_METRIC, sides.run.source)
        pair = compare_runs(sides.base, sides.run, metric, across_hosts=request.across_hosts)
    if not pair.cells:
        raise _nothing_in_common(pair)
    return pair


def _nothing_in_common(pair: RunComparison) -> NothingToDo:
    counts = [
        *(f"{count:,} {words}" for words, count in pair.not_compared.items()),
        f"{len(pair.only_before):,} only in {pair.run_before}",
        f"{len(pair.only_after):,} only in {pair.run_after}",
    ]
    elsewhere = any("machine" in words for words in pair.not_compared)
    return NothingToDo(
        f"both sides share no cell with a {pair.metric.name} that may be compared:"
        f" {', '.join(counts)}",
        hint="--across-hosts compares runs of different machines"
        if elsewhere
        else "`orchestrator status RUN` shows what a run has; --all takes also what must not be"
        " quoted",
    )


def known_property(word: str) -> str:
    """The property of that name, be it written with hyphens or in the plural."""
    name = word.replace("-", "_").lower()
    axis = axis_of(name)
    name = _OTHER_WORDS.get(name, axis.name if axis else name)
    if name not in DETERMINED:
        raise UsageError(f"--by: {refuse_unknown(word, PROPERTIES)}")
    return name


def _refusal(
    store: Store, selection: Selection, request: ComparisonRequest, comparison: ComparisonBy
) -> NothingToDo:
    """The reason why nothing can be compared, and a command that helps."""
    selected = selected_values(store, selection, comparison.metric)
    by, metric = comparison.by, comparison.metric
    if not selected.values:
        return _nothing_selected(store, selection, request, selected, metric)
    count = len(selected.values)
    results = f"{count:,} {plural(count, 'result')}"
    alone = "there is one result" if count == 1 else f"no two of {results} differ in {by} alone"
    elsewhere = comparison.left_out.on_other_hosts
    more = f", and {selected.unquotable:,} more need --all" if selected.unquotable else ""
    if elsewhere:
        return NothingToDo(
            f"{alone} on one machine{more}",
            hint=f"--across-hosts compares {elsewhere:,} of them with those of another machine",
        )
    if comparison.left_out.of_other_scopes:
        scopes = ", ".join(sorted({str(value.facts[SCOPE]) for value in selected.values}))
        return NothingToDo(
            f"{alone}, as they have other energy scopes: {scopes}{more}",
            hint="joules of different scopes do not compare; `--metric latency` compares times",
        )
    others = [
        name for name in PROPERTIES if name != by and groups_of(selected.values, name, metric)
    ]
    if others:
        listed = ", ".join(others[:-1]) + " or " * (len(others) > 1) + others[-1]
        named = ["--metric", request.metric] if request.metric else []
        where = database_option(request.selected.database)
        words = ["compare", "--by", others[0], *named, *where]
        return NothingToDo(
            alone + more,
            hint=f"they can be compared by {listed}: `orchestrator {shlex.join(words)}`"
            + _or_measure(by, selected),
        )
    return NothingToDo(alone + more, hint=_or_measure(by, selected).removeprefix("; or "))


def _or_measure(by: str, selected: SelectedValues) -> str:
    model = selected.values[0].facts["model"]
    if by == "run":
        return "; or measure the same cells again: `orchestrator run matrix.yaml`"
    if by == "hardware":
        return "; or bring another machine's results here: `orchestrator merge RESULTS`"
    if by in {"model", "family"}:
        return f"; or measure another model: `orchestrator bench --model {model},{_other(model)}`"
    mode, options = selected.values[0].facts["mode"], _MEASURING[by]
    if mode not in {None, "inference"} and "--mode" not in options:
        options = f"--mode {mode} {options}"
    return f"; or measure more: `orchestrator bench --model {model} {options}`"


def _other(model: str) -> str:
    return "bert-tiny" if model != "bert-tiny" else "bert-micro"


def _nothing_selected(
    store: Store,
    selection: Selection,
    request: ComparisonRequest,
    selected: SelectedValues,
    metric: Metric,
) -> NothingToDo:
    if selected.without:
        count = f"{selected.without:,} {plural(selected.without, 'result')}"
        return NothingToDo(
            f"none of {count} has a value of {metric.name}", hint="try `--metric latency`"
        )
    if selected.unquotable:
        count = f"{selected.unquotable:,} {plural(selected.unquotable, 'result')}"
        return NothingToDo(
            f"{count} must not be quoted: without proof, or with wrong outputs",
            hint="--all compares them, marked",
        )
    imported = replace(selection, imported=True)
    if not selection.imported and (others := selected_values(store, imported, metric).values):
        return NothingToDo(
            "no result of our own fits",
            hint=f"--source all compares {len(others):,} that were imported",
        )
    narrowed = request.selected.filters or request.selected.run
    return NothingToDo(
        "no result fits" if narrowed else f"{request.selected.database} holds no result yet",
        hint="leave out a filter; `orchestrator query latest_results` lists what there is"
        if narrowed
        else "measure some: `orchestrator bench --model bert-tiny --backend available`",
    )
