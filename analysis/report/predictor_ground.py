"""Ground of a predictor: whose results it learnt from, the devices it knows, the span it has."""

import math
from collections.abc import Iterator, Mapping, Sequence

from analysis.charts.words import listed, noun_count
from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine
from analysis.predict.features import Domain
from analysis.predict.manifest import PredictorManifest
from analysis.results.source import OWN_SOURCES
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.numbers import rounded

_OURS = "ourselves"
_DIGITS = 4
_MOST = 700.0
_SPAN = (
    Field("target", "predicted"),
    Field("feature", "of a question"),
    Field("least", kind="number"),
    Field("most", kind="number"),
    Field("values", kind="prose"),
)
_LEFT_OUT = (
    Field("reason", "because", "prose"),
    Field("results", kind="number"),
)
_MACHINES = (
    Field("name", "device"),
    Field("backends"),
    Field("precisions"),
    Field("peaks"),
)


def ground_tables(manifest: PredictorManifest, machines: Sequence[KnownMachine]) -> Iterator[Table]:
    """Results by who measured them, those left out by reason, and devices."""
    sources = dict.fromkeys(name for one in manifest.targets.values() for name in one.examples)
    columns = [
        Field("source", "measured by"),
        *(Field(name, PREDICTION_TARGETS[name].label, "number") for name in manifest.targets),
    ]
    rows = [
        {
            "source": _OURS if source in OWN_SOURCES else source,
            **{name: facts.examples.get(source) for name, facts in manifest.targets.items()},
        }
        for source in sources
    ]
    note = f"They are of {noun_count(len(manifest.rows), 'run')} or imported files."
    yield Table("Results", columns, rows, (note,), "sources")
    left_out = [
        {"reason": reason, "results": count}
        for reason, count in sorted(manifest.left_out.items(), key=lambda one: -one[1])
    ]
    if left_out:
        yield Table("Left out", _LEFT_OUT, left_out, name="left_out")
    yield Table("Devices that it knows", _MACHINES, [*map(_machine, machines)], name="machines")


def _machine(machine: KnownMachine) -> RowFacts:
    measured = sorted({device.measured for device in machine.devices.values()})
    origins = ["measured" if one else "of a data sheet" for one in measured]
    return {
        "name": machine.name,
        "backends": ", ".join(machine.backends),
        "precisions": ", ".join(machine.devices),
        "peaks": " and ".join(origins) or None,
    }


def span_table(domains: Mapping[str, Domain]) -> Table:
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
    return Table("Span", _SPAN, rows, (note,), "span").filled()


def _spans(domain: Domain, labels: str) -> Iterator[RowFacts]:
    for name in domain.lows:
        ends = (domain.lows[name], domain.highs.get(name, domain.lows[name]))
        least, most = map(_number, ends)
        yield {"target": labels, "feature": name, "least": least, "most": most}
    for name, values in domain.choices.items():
        yield {"target": labels, "feature": name, "values": ", ".join(sorted(values))}


def _number(logarithm: float) -> float | None:
    """The number behind a logarithm; None where no number is as large."""
    return rounded(math.exp(logarithm), _DIGITS) if abs(logarithm) < _MOST else None
