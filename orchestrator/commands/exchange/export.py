"""Exports: a table for other programs, or a bundle for other people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator import store
from orchestrator.exchange.bundles import BundleManifest, open_bundle, write_bundle
from orchestrator.store import ExportedTopic, ExportOptions


@dataclass(frozen=True)
class ExportedBundle:
    """A bundle that was written."""

    bundle: Path
    bytes: int
    sha256: str
    """Hash of the whole archive."""
    manifest: BundleManifest


@dataclass(frozen=True)
class CheckedBundle:
    """A bundle and its faults."""

    bundle: Path
    bytes: int
    sha256: str
    """Hash of the whole archive."""
    sound: bool
    """True if it has no fault, and a merge takes all of its records."""
    faults: tuple[str, ...]
    """Faults of the archive: nothing in it is merged."""
    left_out: int
    """Number of records that no measurement can have given, which a merge leaves out."""
    left_out_because: str | None
    """The first of those records, each with its reason; None if there is none."""
    manifest: BundleManifest | None
    """None if it cannot be read."""
    newer: bool
    """True if a newer AccelMatrix wrote it."""


def export_table(database: Path, options: ExportOptions) -> ExportedTopic:
    """Write a topic's rows into a file, or a folder of partitions, whole or not at all.

    Raises:
        UsageError: an option is missing or contradicts another one, or the output exists.
        StoreError: the database cannot be read, or the output not written.
    """
    return store.export_topic(database, options)


def export_bundle(
    database: Path, runs: Sequence[str], output: Path, *, force: bool
) -> ExportedBundle:
    """Write these runs, or all of them, into one archive that `merge` takes elsewhere.

    Raises:
        UsageError: there is no such run, or the file exists and `force` does not allow to
            replace it.
        StoreError: the database cannot be read, or the file not written.
    """
    written = write_bundle(database, runs, output, force=force)
    return ExportedBundle(written.path, written.bytes, written.sha256, written.manifest)


def check_bundle(path: Path) -> CheckedBundle:
    """Check an archive without merging it.

    Raises:
        StoreError: it cannot be read.
    """
    with open_bundle(path) as bundle:
        return CheckedBundle(
            bundle.path,
            bundle.bytes,
            bundle.sha256,
            not bundle.faults and bundle.impossible is None,
            tuple(bundle.faults),
            bundle.left_out,
            bundle.impossible.reason if bundle.impossible else None,
            bundle.manifest,
            bundle.newer,
        )
