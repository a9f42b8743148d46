"""A matrix of families and hardware, with means of the sweeps behind it.

The means are over all batch sizes and input sizes of a sweep, so they stay in the details; that
a pair is not compatible is what an empty matrix says too, so it is no verdict by itself.
"""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.shape import Shape, has_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, last
from orchestrator.imports.quantities import says_nothing
from orchestrator.imports.reading import Reading

_PAIRS = "hardware_compatibility"
_MEANS = "mean_latency"


def _matches(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    families = value["model_families"].values()
    if not families:
        return isinstance(value.get("hardware_types"), list) and "batch_sizes" not in value
    return any(has_map(family, _PAIRS) for family in families)


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    marks = marks_in(value, WHOLE, without=("model_families",))
    for family in Entry(value, WHOLE).spots("model_families", _result, Around(marks=marks)):
        pairs = Entry(family.value, family.place) if isinstance(family.value, dict) else None
        for pair in pairs.spots(_PAIRS, _result, family.around) if pairs else (family,):
            yield from _of_pair(last(family.place), pair)


def _of_pair(family: str, pair: Spot) -> Iterator[Spot]:
    if not isinstance(pair.value, dict):
        yield pair
        return
    rest = {key: item for key, item in pair.value.items() if key != "benchmark_results"}
    around = Around(
        fields={"family": family, "backend": last(pair.place)},
        details=Entry(rest, pair.place).details(),
        marks=(*pair.around.marks, *marks_in(rest, pair.place)),
    )
    yield from Entry(pair.value, pair.place).spots("benchmark_results", _result, around)


def _result(entry: Entry, around: Around) -> Found:
    measured = not says_nothing(entry.seen(_MEANS))
    entry.checked(_MEANS, "mean_throughput")
    ending = (
        {"status": "ok"}
        if measured
        else {"status": "failed", "reason": f"no {_MEANS} was recorded"}
    )
    details = {**around.details, **({"means": "over the shapes of a sweep"} if measured else {})}
    fields = {
        **ending,
        "model": entry.text("model_name", "model"),
        "measured_at": entry.moment("timestamp"),
    }
    inside = Around(around.fields, details, around.marks)
    return verdict(entry, inside, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a compatibility matrix that names no measured model")


COMPATIBILITY = Shape("legacy-compatibility", _matches, _read)
