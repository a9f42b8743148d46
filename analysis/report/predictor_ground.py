"""Ground of a predictor: whose results it learnt from, the devices it knows, the span it has."""

import math
from collections.abc import Iterator, Mapping, Sequence

from analysis.charts.words import listed, noun_count
from analysis.predict.domain import Domain
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.manifest import PredictorManifest
from analysis.report.report import ReportColumn, ReportRow, ReportTable
from analysis.results.source import OWN_SOURCES
from analysis.statistics.rounding import rounded

_OURS = "ourselves"
_DIGITS = 4
_MOST = 700.0
_SPAN = (
    ReportColumn("target", "predicted"),
    ReportColumn("feature", "of a question"),
    ReportColumn("least", "least", "number"),
    ReportColumn("most", "most", "number"),
    ReportColumn("values", "values", "prose"),
)
_LEFT_OUT = (
    ReportColumn("reason", "because", "prose"),
    ReportColumn("results", "results", "number"),
)
_MACHINES = (
    ReportColumn("name", "device"),
    ReportColumn("backends", "backends"),
    ReportColumn("precisions", "precisions"),
    ReportColumn("peaks", "peaks"),
)


def ground_tables(
    manifest: PredictorManifest, machines: Sequence[KnownMachine]
) -> Iterator[ReportTable]:
    """Results by who measured them, those left out by reason, and devices."""
    sources = dict.fromkeys(name for one in manifest.targets.values() for name in one.examples)
    columns = [
        ReportColumn("source", "measured by"),
        *(
            ReportColumn(name, PREDICTION_TARGETS[name].label, "number")
            for name in manifest.targets
        ),
    ]
    rows = [
        {
            "source": _OURS if source in OWN_SOURCES else source,
            **{name: facts.examples.get(source) for name, facts in manifest.targets.items()},
        }
        for source in sources
    ]
    note = f"They are of {noun_count(len(manifest.rows), 'run')} or imported files."
    yield ReportTable("sources", "Results", columns, rows, (note,))
    left_out = [
        {"reason": reason, "results": count}
        for reason, count in sorted(manifest.left_out.items(), key=lambda one: -one[1])
    ]
    if left_out:
        yield ReportTable("left_out", "Left out", _LEFT_OUT, left_out)
    yield ReportTable("machines", "Devices that it knows", _MACHINES, [*map(_machine, machines)])


def _machine(machine: KnownMachine) -> ReportRow:
    measured = sorted({device.measured for device in machine.devices.values()})
    origins = ["measured" if one else "of a data sheet" for one in measured]
    return {
        "name": machine.name,
        "backends": ", ".join(machine.backends),
        "precisions": ", ".join(machine.devices),
        "peaks": " and ".join(origins) or None,
    }


def span_table(domains: Mapping[str, Domain]) -> ReportTable:
    """The span of each number of questions; targets with the same examples share rows."""
    alike: list[tuple[Domain, list[str]]] = []
    for name, domain in domains.items():
        same = next((names for one, names in alike if one == domain), None)
        if same is None:
            alike.append((domain, [PREDICTION_TARGETS[name].label]))
        else:
            same.append(PREDICTION_TARGETS[name].label)
    rows = [row for domain, labels in alike for row in _spans(domain, listed(labels))]
    note = (
        "Beyond these ends an answer is marked as an extrapolation, and refused if it is 32 times"
        " beyond; a value that is not among the named ones is refused."
    )
    return ReportTable("span", "Span", _SPAN, rows, (note,)).without_empty_columns()


def _spans(domain: Domain, labels: str) -> Iterator[ReportRow]:
    for name in domain.lows:
        ends = (domain.lows[name], domain.highs.get(name, domain.lows[name]))
        least, most = map(_number, ends)
        yield {"target": labels, "feature": name, "least": least, "most": most}
    for name, values in domain.choices.items():
        yield {"target": labels, "feature": name, "values": ", ".join(sorted(values))}


def _number(logarithm: float) -> float | None:
    """The number behind a logarithm; None where no number is as large."""
    return rounded(math.exp(logarithm), _DIGITS) if abs(logarithm) < _MOST else None
