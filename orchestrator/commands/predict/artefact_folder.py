"""The folder of a database's predictor, `<database>.predictor/`: written whole, read with care."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.artefact.manifest import (
    MANIFEST_NAME,
    PredictorManifest,
    parse_manifest,
)
from orchestrator.store import STORE_VERSION, writer_lock
from orchestrator.system.files import database_option, output_folder, translate_os_errors
from runner.contract.errors import DamagedFile, StoreError, UsageError
from runner.contract.files import sync
from runner.contract.plain_files import read_plain

if TYPE_CHECKING:
    from analysis.predict.forecaster import Forecaster

MOST_BYTES = 256 << 20
"""Most bytes of one file: 15,000 rows take some 5 MB."""


@dataclass(frozen=True)
class StoredPredictor:
    """A predictor as it lies beside its database; its files are read when they are needed."""

    database: Path
    folder: Path
    manifest: PredictorManifest

    def forecaster(self, targets: Sequence[str] | None = None) -> "Forecaster":
        """The forecaster of these targets; None for all that it knows.

        Raises:
            StoreError: a file is missing, altered or not what it should be.
            UsageError: the extra `analysis` is missing.
        """
        from analysis.predict.artefact.reading import read_forecaster

        def refuse(fault: str) -> StoreError:
            return refused_predictor(self.database, fault)

        return read_forecaster(self.manifest, self._read, targets, refuse)

    def _read(self, name: str) -> str:
        return plain_text(self.folder / name)


def predictor_folder(database: Path) -> Path:
    """The folder of a database's predictor, beside it."""
    return database.with_name(f"{database.name}.predictor")


def training_command(database: Path) -> str:
    """The command that makes a new predictor of this database."""
    return " ".join(["orchestrator predict train", *database_option(database)])


def save_predictor(database: Path, files: Mapping[str, str]) -> Path:
    """Write a predictor's files, whole or not at all; returns their folder.

    Raises:
        UsageError: something else has the folder's name.
        StoreError: the file system refused; what was there before is as it was.
    """
    folder = predictor_folder(database)
    if folder.exists() and not (folder / MANIFEST_NAME).is_file() and not _is_empty(folder):
        raise UsageError(f"{folder}: is no predictor of ours", hint="move it away")
    with writer_lock(database), output_folder(folder) as unfinished:
        for name, text in files.items():
            path = unfinished / name
            path.write_text(text, "utf-8")
            sync(path)
        sync(unfinished)
    return folder


def open_predictor(database: Path) -> StoredPredictor:
    """The predictor of a database.

    Raises:
        StoreError: there is none, it is damaged, or it is of another version.
    """
    folder = predictor_folder(database)
    if not folder.is_dir():
        raise StoreError(
            f"{folder}: there is no predictor yet",
            hint=f"`{training_command(database)}` makes one of what was measured",
        )
    try:
        manifest = parse_manifest(plain_text(folder / MANIFEST_NAME))
    except (DamagedFile, FileNotFoundError) as error:
        fault = f"{MANIFEST_NAME} is missing" if isinstance(error, OSError) else str(error)
        raise refused_predictor(database, fault) from error
    if manifest.schema_version != STORE_VERSION:
        raise refused_predictor(
            database,
            f"it is of schema {manifest.schema_version}, and databases are of {STORE_VERSION}",
        )
    return StoredPredictor(database, folder, manifest)


def refused_predictor(database: Path, fault: str) -> StoreError:
    """The error that says why a predictor cannot be used, with what makes a new one."""
    return StoreError(
        f"{predictor_folder(database)}: {fault}",
        hint=f"`{training_command(database)}` makes a new one",
    )


def plain_text(path: Path) -> str:
    """The text of a plain file.

    Raises:
        FileNotFoundError: there is none.
        DamagedFile: it is no plain file, is too large, or is no text.
        StoreError: it cannot be read.
    """
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


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
