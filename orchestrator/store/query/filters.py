"""Filters of results: checked names and values, as a condition in SQL."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TypedDict, TypeVar

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.schema.result_views import PERFORMANCE, PERFORMANCE_ALL
from orchestrator.store.schema.tables import OURS, RECORD, SYNTHETIC
from orchestrator.system.selector import Selector
from runner.contract.axes import COUNT_AXES, SIZE_AXES
from runner.contract.errors import UsageError
from runner.contract.models import catalogue

Words = str | Collection[str]
"""A word, or several of which one has to fit."""
Numbers = int | Collection[int]
"""A whole number, or several of which one has to fit."""
_Value = TypeVar("_Value")


class Filters(TypedDict, total=False):
    """Conditions on results, all of which must hold; a column's filter is named as the column.

    All columns are those of the view `benchmark_performance`.
    """

    model: Words
    family: Words
    task: Words
    hardware: Words
    host: Words
    """Machines, by the hash that the views call `host`."""
    hostname: Words
    backend: Words
    runtime: Words
    precision: Words
    mode: Words
    training_precision: Words
    scenario: Words
    launcher: Words
    status: Words
    proof: Words
    grade: Words
    run_id: Words
    cell_id: Words
    source: Words
    batch_size: Numbers
    sequence_length: Numbers
    image_size: Numbers
    audio_seconds: Numbers
    new_tokens: Numbers
    threads: Numbers
    workers: Numbers
    since: datetime
    """Measured then or later."""
    until: datetime
    select: Words
    """Globs over cell ids, as `--select` takes them; `!GLOB` drops."""


MOMENTS: Mapping[str, str] = {"since": ">=", "until": "<"}
GLOBS = "select"
_ALLOWED: Mapping[str, Collection[str]] = {column.name: column.allowed for column in RECORD}
_TRUSTED: Mapping[str, Collection[str]] = {
    "status": ("ok",),
    "proof": ("proven",),
    "source": (OURS, SYNTHETIC),
}
"""Values in default views; synthetic rows lie in scratch databases only."""


def condition(
    connection: DuckDBPyConnection,
    filters: Mapping[str, object],
    *,
    trusted: bool,
    as_options: bool = False,
) -> str:
    """The condition under which a row of `benchmark_performance` fits every filter.

    Trusted: no value may ask for what that view leaves out. As options: errors name a filter as
    the command line does.
    """
    known = Filters.__annotations__
    for name in (name for name in filters if name not in known):
        raise UsageError.unknown(
            name, known, f"there is no filter {name!r}", hint=f"filters are {', '.join(known)}"
        )
    parts = [
        _part(connection, name, value, as_option=as_options) for name, value in filters.items()
    ]
    for name, allowed in _TRUSTED.items() if trusted else ():
        if name in filters and not {*allowed} & {*_words(name, filters[name])}:
            raise UsageError(
                f"{name}={filters[name]!r}: no trusted result has that {name}",
                hint="give trusted=False, and look at `status`, `proof` and `correct` yourself",
            )
    return " AND ".join(parts) or "true"


def selected_ids(
    connection: DuckDBPyConnection, filters: Mapping[str, object], *, trusted: bool
) -> str:
    view = (PERFORMANCE if trusted else PERFORMANCE_ALL).name
    return f"SELECT result_id FROM {view} WHERE {condition(connection, filters, trusted=trusted)}"


def _part(
    connection: DuckDBPyConnection, name: str, value: object, *, as_option: bool = False
) -> str:
    if name in MOMENTS:
        return f"measured_at {MOMENTS[name]} {text(_moment(name, value).isoformat())}::TIMESTAMPTZ"
    if name in (*SIZE_AXES, *COUNT_AXES):
        numbers = [_checked(name, number, int, "a whole number") for number in _several(value)]
        return _is_one_of(name, map(str, numbers))
    words = _words(name, value)
    if name == GLOBS:
        selector = Selector(words)
        kept, dropped = (
            " OR ".join(f"cell_id GLOB {text(glob)}" for glob in globs)
            for globs in (selector.kept, selector.dropped)
        )
        return f"({kept or 'true'}) AND NOT ({dropped or 'false'})"
    _check_words(connection, name, words, as_option=as_option)
    return _is_one_of(name, map(text, words))


def _is_one_of(name: str, literals: Iterable[str]) -> str:
    listed = ", ".join(literals)
    return f"{name} IN ({listed})" if listed else "false"


def _check_words(
    connection: DuckDBPyConnection, name: str, words: Iterable[str], *, as_option: bool
) -> None:
    """Refuse words that neither AccelMatrix nor this database knows."""
    known = set(catalogue() if name == "model" else _ALLOWED.get(name, ()))
    unknown = [word for word in words if word not in known]
    if not unknown:
        return
    stored = connection.execute(
        f"SELECT DISTINCT {name} FROM benchmark_performance_all WHERE {name} IS NOT NULL"
    ).fetchall()
    known |= {word for (word,) in stored}
    for word in unknown:
        if word not in known:
            wording = f"--{name.replace('_', '-')} {word}" if as_option else f"{name}={word!r}"
            question = f'"SELECT DISTINCT {name} FROM benchmark_performance_all"'
            command = f"`orchestrator query {question}`" if as_option else question
            raise UsageError.unknown(
                word,
                known,
                f"{wording}: nothing in this database has it",
                hint=f"the database tells what it holds: {command}",
            )


def _words(name: str, value: object) -> list[str]:
    return [_checked(name, word, str, "text") for word in _several(value)]


def _moment(name: str, value: object) -> datetime:
    moment = _checked(name, value, datetime, "a datetime")
    if moment.tzinfo is None:
        raise UsageError(
            f"{name}={moment.isoformat()}: has no time zone",
            hint="give it one: datetime(2026, 11, 21, tzinfo=UTC)",
        )
    return moment


def _several(value: object) -> Collection[object]:
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        return value
    return [value]


def _checked(name: str, value: object, type_: type[_Value], wording: str) -> _Value:
    if not isinstance(value, type_) or isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: is not {wording}")
    return value
