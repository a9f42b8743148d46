"""The evaluation beside a predictor: kept by `predict evaluate`, shown by the report."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from analysis.predict.kept_evaluation import (
    EVALUATION_NAME,
    KeptEvaluation,
    KeptTrial,
    parse_evaluation,
)
from analysis.predict.manifest import Sources
from analysis.predict.novelty import Novelty
from orchestrator.commands.predict.stored_predictor import (
    StoredPredictor,
    open_predictor,
    plain_text,
    predictor_folder,
)
from orchestrator.store import Store, writer_lock
from orchestrator.system.files import database_option, output_file
from runner.contract.errors import DamagedFile, StoreError

KeptTrials: TypeAlias = Mapping[str, Mapping[Novelty, KeptTrial]]
"""Trials by target and novelty."""


def evaluation_command(database: Path, sources: Sources) -> str:
    """The command that evaluates predictions of this database, and keeps what it finds."""
    words = ["orchestrator predict evaluate", *(["--source all"] if sources == "all" else [])]
    return " ".join([*words, *database_option(database)])


def keep_evaluation(database: Path, rows_digest: str, trials: KeptTrials) -> Path | None:
    """Keep trials beside the predictor of just these rows, with earlier ones of other targets.

    Args:
        database: the database.
        rows_digest: that of the rows that were hidden.
        trials: the trials.

    Returns:
        The file; None where there is no predictor of these rows.

    Raises:
        StoreError: the predictor is refused, or the file cannot be written.
    """
    if not predictor_folder(database).is_dir():
        return None
    with writer_lock(database):
        with Store.open_readonly(database) as store:
            predictor = open_predictor(database, store)
        if predictor.manifest.rows_digest != rows_digest:
            return None
        evaluation = KeptEvaluation(
            evaluated_at=datetime.now(UTC),
            rows_digest=rows_digest,
            targets={**_earlier(predictor), **trials},
        )
        path = predictor.folder / EVALUATION_NAME
        with output_file(path) as file:
            file.write(evaluation.model_dump_json().encode() + b"\n")
    return path


def kept_evaluation(predictor: StoredPredictor) -> KeptEvaluation | None:
    """The evaluation that is kept beside a predictor; None where there is none of its results.

    Raises:
        StoreError: it is damaged, of another version, or cannot be read.
    """
    try:
        evaluation = parse_evaluation(plain_text(predictor.folder / EVALUATION_NAME))
    except FileNotFoundError:
        return None
    except DamagedFile as damaged:
        command = evaluation_command(predictor.database, predictor.manifest.sources)
        raise StoreError(
            f"{predictor.folder}: {damaged}", hint=f"`{command}` makes a new one"
        ) from damaged
    is_of_its_rows = evaluation.rows_digest == predictor.manifest.rows_digest
    return evaluation if is_of_its_rows else None


def _earlier(predictor: StoredPredictor) -> KeptTrials:
    """The trials that are kept already; none where they cannot be read."""
    try:
        evaluation = kept_evaluation(predictor)
    except StoreError:
        return {}
    return evaluation.targets if evaluation else {}
