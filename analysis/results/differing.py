"""Facts that rows share, for headings, and facts that tell them apart, for columns."""

from collections.abc import Iterable, Sequence
from typing import Any

from analysis.results.series import ASKED_THREADS, SCOPE, SETTINGS
from analysis.results.synonyms import axis_of, axis_words
from analysis.results.table import Field, RowFacts
from runner.contract.axes import AXIS_NAMES, SIZE_AXES

ASKED_AXES = tuple(name for name in AXIS_NAMES if name != "threads")
"""The axes without the threads that a machine chose; `asked_threads` are those of a cell."""
WORK = (*ASKED_AXES, ASKED_THREADS)
_BESIDE = ("part", SETTINGS, SCOPE, "launcher", "weights", "weights_seed", "hardware", "hostname")
"""Facts beside the axes by which comparisons may differ."""
QUESTION = (*WORK, *_BESIDE)
_PATH = (("backend", "runtime"), ("runtime", "backend"))
"""Facts of which one is spare if the other tells both."""
USUAL_SCENARIO = "single_stream"
"""The scenario that goes without saying."""


def varying(rows: Sequence[RowFacts], names: Iterable[str]) -> list[str]:
    return [name for name in names if _count(rows, name) > 1]


def telling(rows: Sequence[RowFacts], names: Iterable[str]) -> list[str]:
    """The same without backend or runtime where the other tells both."""
    different = varying(rows, names)
    for spare, teller in _PATH:
        if {spare, teller} <= {*different} and _count(rows, spare, teller) == _count(rows, teller):
            return [name for name in different if name != spare]
    return different


def questions(rows: Sequence[RowFacts], names: Iterable[str] = QUESTION) -> list[str]:
    """The same without sizes that follow from the model, as tokens and pixels do."""
    models = _count(rows, "model")
    return [
        name
        for name in telling(rows, names)
        if not (name in SIZE_AXES and _count(rows, "model", name) == models)
    ]


def question_field(name: str) -> Field:
    return fact_field(name, essential=name not in _BESIDE)


def fewest_facts(rows: Sequence[RowFacts], names: Sequence[str]) -> list[str]:
    """As few of these facts as tell the rows apart no less than all of them do."""
    kept = list(names)
    for name in reversed(names):
        others = [other for other in kept if other != name]
        if _count(rows, *others) == _count(rows, *kept):
            kept = others
    return kept


def are_distinct(rows: Sequence[RowFacts], names: Sequence[str]) -> bool:
    return _count(rows, *names) == len(rows)


def shared(rows: Sequence[RowFacts], names: Iterable[str]) -> dict[str, Any]:
    return {name: rows[0].get(name) for name in names if _count(rows, name) == 1}


def fact_words(facts: RowFacts) -> list[str]:
    """Facts that are known, as sentences name them: `openvino`, `batch 8`, `2 threads`."""
    return [
        axis_words("threads" if name == ASKED_THREADS else name, value)
        for name, value in facts.items()
        if value is not None
    ]


def work_words(rows: Sequence[RowFacts], names: Iterable[str]) -> str:
    """The work that all rows share; a backend that is its own runtime is named once."""
    work = {name: value for name, value in shared(rows, names).items() if value != USUAL_SCENARIO}
    if work.get("backend") == work.get("runtime"):
        work.pop("backend", None)
    return ", ".join(fact_words(work))


def shared_words(
    rows: Sequence[RowFacts], names: Iterable[str], results: Sequence[RowFacts] | None = None
) -> str:
    """The work, the machine of `results` behind the rows, and the launcher that are the same."""
    machines = rows if results is None else results
    hardware, cores = _common(machines, "hardware"), _common(machines, "cores")
    machine = (hardware, f"{cores} cores" if cores else None)
    beside = (", ".join(filter(None, machine)), _common(rows, "launcher"))
    return " · ".join(filter(None, (work_words(rows, names), *beside)))


def fact_heading(name: str) -> str:
    axis = axis_of("threads" if name == ASKED_THREADS else name)
    return (axis.heading if axis else None) or name.replace("_", " ")


def fact_field(name: str, *, essential: bool = True) -> Field:
    wraps = name in {"model", "hardware", SETTINGS}
    return Field(name, fact_heading(name), essential=essential, wraps=wraps)


def _common(rows: Sequence[RowFacts], name: str) -> Any:
    """The value of all rows that have one; None where they differ."""
    values = {row.get(name) for row in rows} - {None}
    return values.pop() if len(values) == 1 else None


def _count(rows: Sequence[RowFacts], *names: str) -> int:
    return len({tuple(row.get(name) for name in names) for row in rows})
