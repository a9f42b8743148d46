"""What many results share: machines, software, models and files, each kept once."""

from collections.abc import Iterator

from orchestrator.store.schema.columns import text
from orchestrator.store.schema.tables import ARTEFACTS, ENVIRONMENTS, HARDWARE, MODELS, Table


def statements() -> Iterator[str]:
    """The statements that describe anew what the rows of `taken` share, the newest row's words."""
    for table in (HARDWARE, ENVIRONMENTS, MODELS):
        yield _upsert(table, _newest(table))
    yield _upsert(ARTEFACTS, _ARTEFACTS)


def _newest(table: Table) -> str:
    """The newest row of each key; wide columns are looked at in those rows alone."""
    key = table.columns[0].name
    facts = ", ".join(column.name for column in table.columns[1:-1])
    return f"""
        SELECT {key}, {facts}, recorded_at AS seen_at FROM taken
        SEMI JOIN (
            SELECT filename, file_row_number FROM taken WHERE {key} IS NOT NULL
            QUALIFY row_number() OVER (
                PARTITION BY {key} ORDER BY recorded_at DESC, result_id) = 1
        ) USING (filename, file_row_number)
    """


def _upsert(table: Table, query: str) -> str:
    key, *facts = (column.name for column in table.columns)
    changes = ", ".join(f"{fact} = excluded.{fact}" for fact in facts)
    return f"""
        INSERT INTO {table.name} BY NAME {query}
        ON CONFLICT ({key}) DO UPDATE SET {changes}
        WHERE excluded.seen_at > {table.name}.seen_at
    """


def _artefacts(digest: str, kind: str, name: str, facts: str) -> str:
    return f"""
        SELECT {digest} AS digest, {text(kind)} AS kind,
            arg_max({name}, recorded_at) AS name,
            arg_max(to_json({facts})::VARCHAR, recorded_at) AS facts,
            max(recorded_at) AS seen_at
        FROM taken WHERE {digest} IS NOT NULL GROUP BY {digest}
    """


_ARTEFACTS = " UNION ALL ".join(
    (
        _artefacts(
            "graph_sha256",
            "graph",
            "graph",
            "{'remedy': graph_remedy, 'difference_relative': graph_difference_relative}",
        ),
        _artefacts("image_digest", "image", "image", "image_labels"),
        _artefacts("weights_revision", "weights", "model", "{'model_id': model_id}"),
    )
)
