"""A predictor beside its database: the rows that came since it was trained."""

from analysis.predict.examples.training_rows import changed_rows, rows_by_run
from analysis.results.source import ArrowSource
from orchestrator.commands.predict.artefact_folder import StoredPredictor, refused_predictor


def rows_since(predictor: StoredPredictor, source: ArrowSource) -> int:
    """The number of results that came since and that it could learn from.

    A predictor that rests on results which are gone is refused: they were wrong, or it is that of
    another database.

    Raises:
        StoreError: it rests on results that its database does not hold.
    """
    manifest = predictor.manifest
    now = rows_by_run(source, imported=manifest.sources == "all")
    changed = changed_rows(manifest.rows, now)
    total = sum(manifest.rows.values())
    if changed.removed >= total:
        raise refused_predictor(
            predictor.database,
            f"it is that of another database: none of its {total:,} results is in this one",
        )
    if changed.removed:
        raise refused_predictor(
            predictor.database,
            f"{changed.removed:,} of the {total:,} results that it rests on are gone",
        )
    return changed.added
