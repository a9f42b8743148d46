"""The list of views and tables, a line each."""

from analysis.results.table import Field
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.store.query.relations import RELATIONS
from orchestrator.store.schema.views import VIEWS


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
        print_lines([Field(heading, essential=True), Field("rows", wraps=True)], rows)
        print_line()
    print_line("orchestrator query latest_results: the most useful columns; --wide: all of them")
    print_line('orchestrator query "SELECT …": any question in SQL, read-only')
