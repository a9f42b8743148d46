"""The documentation of tables and views, for docs/schema.md."""

from orchestrator.store import STORE_VERSION, TABLES, VIEWS, SqlColumn


def schema_markdown() -> str:
    """The page: every table and view with its columns."""
    lines = [
        "# The database",
        "",
        "<!-- Generated from the code; a change here is lost. -->",
        "",
        f"Schema version {STORE_VERSION}. The same words are the comments in the database itself:",
        "`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'benchmark_runs'`.",
        "Base units in tables, customary ones in views; null says `not known`.",
        "[Ask your results](ask.md) shows them at work.",
        "",
        "## Tables",
        "",
    ]
    for table in TABLES:
        lines += _section(table.name, table.doc, table.columns)
    lines += ["## Views", ""]
    for view in VIEWS:
        lines += _section(view.name, view.doc, view.columns)
    return "\n".join(lines[:-1]) + "\n"


def _section(name: str, doc: str, columns: tuple[SqlColumn, ...]) -> list[str]:
    rows = [f"| `{column.name}` | {column.type} | {_meaning(column)} |" for column in columns]
    return [f"### {name}", "", doc, "", "| column | type | meaning |", "|---|---|---|", *rows, ""]


def _meaning(column: SqlColumn) -> str:
    allowed = ", ".join(f"`{value}`" for value in column.allowed)
    return f"{column.doc} One of {allowed}." if allowed else column.doc
