"""The list of views and tables, a line each."""

from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import Column, print_table
from orchestrator.store import RELATIONS, VIEWS


def print_relations(*, as_json: bool) -> None:
    """Print what can be asked for by its name, views before tables."""
    if as_json:
        print_json([{"name": relation.name, "use": relation.use} for relation in RELATIONS])
        return
    views = {view.name for view in VIEWS}
    for heading, is_view in (("view", True), ("table", False)):
        rows = [
            (relation.name, relation.use)
            for relation in RELATIONS
            if (relation.name in views) == is_view
        ]
        print_table([Column(heading, essential=True), Column("rows", wraps=True)], rows)
        print_line()
    print_line("orchestrator query latest_results: the most useful columns; --wide: all of them")
    print_line('orchestrator query "SELECT …": any question in SQL, read-only')
