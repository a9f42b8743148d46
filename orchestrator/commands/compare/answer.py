"""The answers of `compare`, and why there is none."""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from analysis.compare.compare import ComparisonBy, compare_selected, groups_of
from analysis.compare.runs import OTHER_MACHINE, RunComparison, compare_runs
from analysis.compare.values import SelectedValues, selected_values
from analysis.results.metrics import METRICS, Metric, metric_of
from analysis.results.selection import Selection, newest_of_hosts
from analysis.results.series import DETERMINED, SCOPE
from analysis.results.synonyms import axis_of, meaning
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import open_sides
from orchestrator.matrix.model_names import typed_name
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.axes import ARRIVAL_AXES
from runner.contract.errors import NothingToDo, UsageError, refuse_unknown

PROPERTIES: tuple[str, ...] = tuple(DETERMINED)
_USUAL_METRIC = "latency"
_METRICS: Mapping[str, str] = {
    "batch_size": "throughput",
    "sequence_length": "throughput",
    "workers": "models_per_second",
}
"""The metric to compare by where nobody names one and it is another one."""
_OTHER_WORDS: Mapping[str, str] = {
    "batch": "batch_size",
    "sequence": "sequence_length",
    "tokens": "sequence_length",
    "device": "hardware",
    "gpu": "hardware",
    "host": "hostname",
}
_MEASURING: Mapping[str, str] = {
    "backend": "--backend available",
    "runtime": "--runtime torch,onnxruntime",
    "precision": "--precision fp32,int8",
    "batch_size": "--batch-size 1,2,4,8",
    "sequence_length": "--sequence-length 32,128",
    "threads": "--threads 1,2",
    "workers": "--mode startup --workers 1,2",
}
"""Options of `bench` that give results which differ in a property alone."""


def compare_results(
    chosen: SelectionRequest,
    by: str,
    *,
    metric: str | None = None,
    baseline: str | None = None,
    across_hosts: bool = False,
) -> ComparisonBy:
    """Compare the chosen results by a property, in its usual metric if none is named."""
    by = known_property(by)
    axis = axis_of(by)
    with chosen.open() as (store, selection):
        compared_by = metric_of(metric or _METRICS.get(by, _USUAL_METRIC), store)
        compared = replace(selection, every=by == "run")
        if by == "hostname":
            compared = newest_of_hosts(selection)
        comparison = compare_selected(
            *(store, compared, by, compared_by),
            baseline=meaning(axis, baseline) if axis and baseline else baseline,
            across_hosts=across_hosts,
        )
        if not comparison.groups:
            raise _refusal(store, compared, comparison, chosen, metric)
    return comparison


def known_property(word: str) -> str:
    name = word.replace("-", "_").lower()
    axis = axis_of(name)
    name = _OTHER_WORDS.get(name, axis.name if axis else name)
    if name in ("mode", *ARRIVAL_AXES):
        raise UsageError(
            f"--by {word}: each measures something else (a pass, a generation, a training step, a"
            " start; one query after the other, or at a rate), so numbers of two do not compare",
            hint="within one they do: `--mode inference --by backend`",
        )
    if name not in DETERMINED:
        raise UsageError(f"--by: {refuse_unknown(word, PROPERTIES)}")
    return name


def compare_run_pair(
    chosen: SelectionRequest,
    before: str,
    after: str,
    *,
    metric: str | None = None,
    across_hosts: bool = False,
) -> RunComparison:
    """Compare two runs, or whatever else `open_sides` takes, cell by cell."""
    with open_sides(chosen, before, after) as sides:
        named = metric_of(metric or _USUAL_METRIC, sides.run.source)
        compared_by = replace(named, threshold=chosen.threshold)
        pair = compare_runs(sides.base, sides.run, compared_by, across_hosts=across_hosts)
    if pair.cells:
        return pair
    counts = [
        *(f"{count:,} {words}" for words, count in pair.not_compared.items()),
        f"{len(pair.only_before):,} only in {pair.run_before}",
        f"{len(pair.only_after):,} only in {pair.run_after}",
    ]
    raise NothingToDo(
        f"both sides share no cell with a {pair.metric.name} that may be compared:"
        f" {', '.join(counts)}",
        hint="--across-hosts compares runs of different machines"
        if OTHER_MACHINE in pair.not_compared
        else "`orchestrator status RUN` shows what a run has; --all takes also what must not be"
        " quoted",
    )


def _refusal(
    store: Store,
    selection: Selection,
    comparison: ComparisonBy,
    chosen: SelectionRequest,
    asked_metric: str | None,
) -> NothingToDo:
    by, metric, left_out = comparison.by, comparison.metric, comparison.left_out
    selected = selected_values(store, selection, metric)
    if not selected.values:
        return _nothing_selected(store, selection, chosen, selected, metric)
    count = len(selected.values)
    results = f"{count:,} {plural(count, 'result')}"
    alone = "there is one result" if count == 1 else f"no two of {results} differ in {by} alone"
    more = f", and {selected.unquotable:,} more need --all" if selected.unquotable else ""
    if left_out.on_other_hosts:
        others = f"{left_out.on_other_hosts:,} of them with those of another machine"
        return NothingToDo(
            f"{alone} on one machine{more}", hint=f"--across-hosts compares {others}"
        )
    if left_out.of_other_scopes:
        scopes = ", ".join(sorted({str(value.facts[SCOPE]) for value in selected.values}))
        return NothingToDo(
            f"{alone}, as they have other energy scopes: {scopes}{more}",
            hint="joules of different scopes do not compare; another `--metric` does",
        )
    measure = _measuring_words(by, selected)
    properties = [
        name for name in PROPERTIES if name != by and groups_of(selected.values, name, metric)
    ]
    if not properties:
        return NothingToDo(alone + more, hint=measure)
    listed = ", ".join(properties[:-1]) + " or " * (len(properties) > 1) + properties[-1]
    named = ["--metric", asked_metric] if asked_metric else []
    words = ["compare", "--by", properties[0], *named, *database_option(chosen.database)]
    compare = f"they can be compared by {listed}: `orchestrator {shlex.join(words)}`"
    return NothingToDo(alone + more, hint=f"{compare}; or {measure}")


def _measuring_words(by: str, selected: SelectedValues) -> str:
    model = typed_name(selected.values[0].facts["model"])
    if by == "run":
        return "measure the same cells again: `orchestrator run matrix.yaml`"
    if by in {"hardware", "hostname"}:
        return "bring another machine's results here: `orchestrator merge RESULTS`"
    if by in {"model", "family"}:
        other = "bert-tiny" if model != "bert-tiny" else "bert-micro"
        return f"measure another model: `orchestrator bench --model {model},{other}`"
    mode, options = selected.values[0].facts["mode"], _MEASURING[by]
    if mode not in {None, "inference"} and "--mode" not in options:
        options = f"--mode {mode} {options}"
    return f"measure more: `orchestrator bench --model {model} {options}`"


def _metric_with_values(store: Store, selection: Selection) -> str | None:
    """The first metric of which the selected results have values, the usual ones before others."""
    names = dict.fromkeys((_USUAL_METRIC, "throughput", *METRICS))
    return next(
        (one for one in names if selected_values(store, selection, metric_of(one, store)).values),
        None,
    )


def _nothing_selected(
    store: Store,
    selection: Selection,
    chosen: SelectionRequest,
    selected: SelectedValues,
    metric: Metric,
) -> NothingToDo:
    if selected.without:
        count = f"{selected.without:,} {plural(selected.without, 'result')}"
        return NothingToDo(
            f"none of {count} has a value of {metric.name}",
            hint=f"try `--metric {other}`, of which they have values"
            if (other := _metric_with_values(store, selection))
            else "`orchestrator query latest_results --wide` shows what they have",
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
    narrowed = chosen.filters or chosen.run
    return NothingToDo(
        "no result fits" if narrowed else f"{chosen.database} holds no result yet",
        hint="leave out a filter; `orchestrator query latest_results` lists what there is"
        if narrowed
        else "measure some: `orchestrator bench --model bert-tiny --backend available`",
    )
