"""`status`, `query` and `merge`: commands around the database."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import TableFormat, database_in
from orchestrator.defaults import RESULTS


def status(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN_ID|last", help="One run.  [default: all]", show_default=False),
    ] = None,
    results: options.Results = RESULTS,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Show the runs in the database, or the verdicts of one of them."""
    from orchestrator.render.results import print_results, print_runs
    from orchestrator.store import Store

    path = database_in(results, database)
    with Store.open_readonly(path) as store:
        if run is None:
            print_runs(store.runs(), as_json=json)
            return
        run_id = _resolve(run, [known.run_id for known in store.runs()], path)
        print_results(store.results(run_id), run_id, path, as_json=json)


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement, read-only.")],
    format_: Annotated[TableFormat, typer.Option("--format")] = TableFormat.table,
    results: options.Results = RESULTS,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Ask the database in SQL. docs/schema.md describes tables and views."""
    from orchestrator.render.tables import print_line, print_table
    from orchestrator.store import query as ask
    from orchestrator.store import to_csv, to_json

    table = ask(database_in(results, database), sql)
    if json or format_ is TableFormat.json:
        print_line(to_json(table))
    elif format_ is TableFormat.csv:
        print_line(to_csv(table).rstrip("\n"))
    else:
        print_table(table.column_names, [tuple(row.values()) for row in table.to_pylist()])


def merge(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RESULTS…", help="Record files, or folders of them.")
    ],
    results: options.Results = RESULTS,
    database: options.Database = None,
    scratch: options.Scratch = False,
) -> None:
    """Merge records into the database. Merging twice changes nothing."""
    from orchestrator.render.tables import print_line
    from orchestrator.run_merge import merge_paths

    report = merge_paths(paths, database_in(results, database), scratch=scratch)
    print_line(
        f"{report.inserted} inserted, {report.replaced} replaced, {report.unchanged} unchanged"
    )
    report.require_complete()


def _resolve(run: str, known: list[str], database: Path) -> str:
    """The run that was named; `known` is sorted, the newest first."""
    from orchestrator.errors import MatrixError

    if run == "last" and known:
        return known[0]
    if run in known:
        return run
    newest = f"the newest are {', '.join(known[:3])}" if known else "it holds none yet"
    raise MatrixError(f"{run!r} is not a run in {database}", hint=newest)
