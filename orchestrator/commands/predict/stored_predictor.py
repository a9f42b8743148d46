"""The predictor of a database, in `<database>.predictor/`: written whole, and read if its own.

The database keeps the digest of its predictor. So a predictor of another database, or one that was
altered, is refused before anything in it is believed.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.manifest import (
    EVALUATION_NAME,
    MANIFEST_NAME,
    KeptEvaluation,
    KeptTrial,
    PredictorManifest,
    Sources,
    parse_evaluation,
    predictor_manifest,
)
from analysis.predict.novelty import Novelty
from analysis.results.source import ArrowSource
from orchestrator.store.database.connect import writer_lock
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from orchestrator.system.files import (
    database_option,
    output_file,
    output_folder,
    predictor_folder,
    translate_os_errors,
)
from runner.contract.errors import BenchError, DamagedFile, StoreError, UsageError
from runner.contract.files import read_plain, sync

if TYPE_CHECKING:
    from analysis.predict.forecaster import Forecaster

MOST_BYTES = 256 << 20
"""Most bytes of one file: 15,000 rows take some 10 MB."""
_DIGEST = "SELECT predictor_sha256 FROM schema_version"


@dataclass(frozen=True)
class StoredPredictor:
    """A predictor as it lies beside its database; its files are read when they are needed."""

    database: Path
    manifest: PredictorManifest
    added: int

    @property
    def folder(self) -> Path:
        return predictor_folder(self.database)

    def forecaster(self, targets: Sequence[str] | None = None) -> "Forecaster":
        from analysis.predict.forecaster import read_forecaster

        refuse = partial(_refused, self.database)
        return read_forecaster(
            self.manifest, lambda name: plain_text(self.folder / name), refuse, targets
        )


@dataclass(frozen=True)
class ReadyForecaster:
    """The forecaster of a database, or the reason why there is none."""

    forecaster: "Forecaster | None" = None
    added: int = 0
    refusal: str | None = None


def training_command(database: Path, sources: Sources = "ours") -> str:
    whose = ["--source all"] if sources == "all" else []
    return " ".join(["orchestrator predict train", *database_option(database), *whose])


def evaluation_command(database: Path, sources: Sources) -> str:
    whose = ["--source all"] if sources == "all" else []
    return " ".join(["orchestrator predict evaluate", *whose, *database_option(database)])


def save_predictor(database: Path, files: Mapping[str, str], digest: str) -> Path:
    """Write a predictor's files, whole or not at all, and bind it to the database by its digest."""
    folder = predictor_folder(database)
    is_empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not (is_empty or (folder / MANIFEST_NAME).is_file()):
        raise UsageError(f"{folder}: is no predictor of ours", hint="move it away")
    from orchestrator.store.health.decisions import bind_predictor

    with writer_lock(database), output_folder(folder) as unfinished:
        for name, text in files.items():
            path = unfinished / name
            path.write_text(text, "utf-8")
            sync(path)
        sync(unfinished)
    bind_predictor(database, digest)
    return folder


def open_predictor(database: Path, source: ArrowSource) -> StoredPredictor:
    from analysis.predict.examples.example_rows import changed_rows, rows_by_run

    folder = predictor_folder(database)
    if not folder.is_dir():
        raise StoreError(
            f"{folder}: there is no predictor yet",
            hint=f"`{training_command(database)}` makes one of what was measured",
        )
    (digest,) = source.arrow(_DIGEST).column(0).to_pylist()
    refuse = partial(_refused, database)
    manifest = predictor_manifest(lambda name: plain_text(folder / name), digest, refuse)
    if manifest.schema_version != STORE_VERSION:
        raise refuse(
            f"it is of schema {manifest.schema_version}, and databases are of {STORE_VERSION}"
        )
    now = rows_by_run(source, imported=manifest.sources == "all")
    added, removed = changed_rows(manifest.rows, now)
    if removed:
        total = sum(manifest.rows.values())
        raise refuse(f"{removed:,} of the {total:,} results that it rests on are gone")
    return StoredPredictor(database, manifest, added)


def look_into_predictor(database: Path) -> StoredPredictor:
    """The predictor of a database that nobody has opened; raises what `open_predictor` does."""
    with Store.open_readonly(database) as store:
        return open_predictor(database, store)


def ready_forecaster(
    database: Path, source: ArrowSource, targets: Collection[str]
) -> ReadyForecaster:
    """The forecaster of these targets; a remark on what is wrong where it cannot be used."""
    if not predictor_folder(database).is_dir():
        return ReadyForecaster()
    try:
        predictor = open_predictor(database, source)
        known = [name for name in predictor.manifest.targets if name in targets]
        return ReadyForecaster(predictor.forecaster(known), predictor.added)
    except BenchError as error:
        return ReadyForecaster(refusal=str(error))


def plain_text(path: Path) -> str:
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{path.name} is no text") from error
    except DamagedFile as damaged:
        raise DamagedFile(f"{path.name} {damaged}") from damaged
    except OSError as error:
        with translate_os_errors(path, "cannot be read", "see its owner and mode"):
            raise error


def _refused(database: Path, fault: str) -> StoreError:
    return StoreError(
        f"{predictor_folder(database)}: {fault}", hint=f"train anew: `{training_command(database)}`"
    )


def keep_evaluation(
    database: Path, rows_digest: str, trials: Mapping[str, Mapping[Novelty, KeptTrial]]
) -> Path | None:
    """Keep trials beside the predictor of just these rows, if any, with those of other targets."""
    if not predictor_folder(database).is_dir():
        return None
    with writer_lock(database):
        predictor = look_into_predictor(database)
        if predictor.manifest.rows_digest != rows_digest:
            return None
        earlier = None
        with suppress(StoreError):
            earlier = kept_evaluation(predictor)
        evaluation = KeptEvaluation(
            evaluated_at=datetime.now(UTC),
            rows_digest=rows_digest,
            targets={**(earlier.targets if earlier else {}), **trials},
        )
        path = predictor.folder / EVALUATION_NAME
        with output_file(path) as file:
            file.write(evaluation.model_dump_json().encode() + b"\n")
    return path


def kept_evaluation(predictor: StoredPredictor) -> KeptEvaluation | None:
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
