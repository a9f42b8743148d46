"""The documentation of tables and views, for docs/schema.md."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.store.query.relations import RELATIONS
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, SqlColumn
from orchestrator.store.schema.views import VIEWS

_GUIDE = (
    ("latest_results",),
    ("benchmark_performance",),
    ("history",),
    ("paired_ratios",),
    ("generation_results",),
    ("training_results", "startup_results", "arrival_results"),
    ("offline_curve",),
    ("efficiency",),
    ("compatibility",),
    ("failures",),
    ("imported_results",),
)
"""The views to begin with, those of one line together."""
_EVERYTHING = "benchmark_performance"
"""The view that describes the columns of results."""
_Meaning = tuple[str, str]
_USES = {relation.name: relation.use for relation in RELATIONS}
_ALLOWED = {
    (column.name, column.doc): column.allowed for table in TABLES for column in table.columns
}

_FEW = 0.05
"""Share of a relation's columns that another may lack and still refer to it."""


def schema_markdown() -> str:
    """The page: which view is for what, then every view and table, each column described once."""
    lines = [
        "# The database",
        "",
        "<!-- Generated from the code; a change here is lost. -->",
        "",
        *map(_guide_line, _GUIDE),
        "",
        "Views whose names end with `_all` also hold what must not be quoted, with the marks that",
        "say why. `orchestrator query latest_results` shows the most useful columns of a view or a",
        "table, `--wide` all of them; `orchestrator query` lists what there is.",
        "[Ask your results](ask.md) shows questions in SQL.",
        "",
        f"Schema version {STORE_VERSION}. The same words are the comments in the database itself:",
        "`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'benchmark_runs'`.",
        "Base units in tables, customary ones in views; null says `not known`. Each column is",
        "described where it comes first; further down its name stands for the same.",
        "",
    ]
    described: dict[str, set[_Meaning]] = {}
    order = [*_USES]
    views = sorted(VIEWS, key=lambda view: order.index(view.name))
    first = [view for view in views if view.name == _EVERYTHING]
    for heading, relations in (("Views", [*first, *views]), ("Tables", TABLES)):
        lines += [f"## {heading}", ""]
        for relation in relations:
            if relation.name not in described:
                lines += _section(relation.name, relation.doc, relation.columns, described)
                described[relation.name] = {*map(_meaning, relation.columns)}
    return "\n".join(lines[:-1]) + "\n"


def _guide_line(names: Iterable[str]) -> str:
    links = ", ".join(f"[`{name}`](#{name})" for name in names)
    return f"- {links}: {'; '.join(_USES[name] for name in names)}."


def _section(
    name: str, doc: str, columns: Sequence[SqlColumn], described: Mapping[str, set[_Meaning]]
) -> Iterator[str]:
    known = set().union(*described.values())
    new = [column for column in columns if _meaning(column) not in known]
    yield from (f"### {name}", "", doc, "")
    if len(new) < len(columns):
        names = _references([column for column in columns if column not in new], described)
        yield from (f"{'Beside the table below' if new else 'Columns'}: {names}.", "")
    if new:
        yield from ("| column | type | meaning |", "|---|---|---|")
        yield from (f"| `{column.name}` | {column.type} | {_text(column)} |" for column in new)
        yield ""


def _references(old: Sequence[SqlColumn], described: Mapping[str, set[_Meaning]]) -> str:
    """The columns that are described elsewhere: those of a relation by its name, but for a few."""
    meanings = {*map(_meaning, old)}
    whole = next(
        (name for name, known in described.items() if len(known - meanings) <= len(known) * _FEW),
        None,
    )
    if whole is None:
        return ", ".join(f"`{column.name}`" for column in old)
    missing = sorted(name for name, _ in described[whole] - meanings)
    exceptions = f" but {', '.join(f'`{name}`' for name in missing)}" if missing else ""
    others = [f"`{column.name}`" for column in old if _meaning(column) not in described[whole]]
    return ", ".join([f"every column of [{whole}](#{whole}){exceptions}", *others])


def _meaning(column: SqlColumn) -> _Meaning:
    return column.name, column.doc


def _text(column: SqlColumn) -> str:
    allowed = ", ".join(f"`{value}`" for value in _ALLOWED.get(_meaning(column), ()))
    return f"{column.doc} One of {allowed}." if allowed else column.doc
