"""Bundles are checked before anything in them is believed."""

import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.bundle import manifest as names
from orchestrator.bundle.archive import BROKEN, sha256, size, unsafe
from orchestrator.bundle.manifest import VERSION, Manifest, RunEntry, matrix_name
from orchestrator.bundle.members import (
    Unsound,
    extracted,
    json_of,
    list_of,
    member_faults,
    text_of,
    valid,
)
from orchestrator.errors import StoreError
from orchestrator.store import Run
from orchestrator.store.merging.examine import Examined, examine
from orchestrator.whole_files import storing

SHOWN = 3
HINT = "ask for the bundle once more; `orchestrator verify` names every fault"


@dataclass(frozen=True)
class Bundle:
    """An archive that was looked at; its records can be read until it is closed."""

    path: Path
    sha256: str
    """Of the whole archive."""
    bytes: int
    faults: tuple[str, ...]
    """What is wrong with it; nothing else is known then."""
    manifest: Manifest | None = None
    runs: tuple[Run, ...] = ()
    """Those that the orchestrator described, with their matrices."""
    records: Path | None = None
    """A copy of its records."""

    def require_sound(self) -> None:
        """Insist that nothing is wrong.

        Raises:
            StoreError: it names the first faults.
        """
        if self.faults:
            more = len(self.faults) - SHOWN
            told = "; ".join(self.faults[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise StoreError(f"{self.path}: no sound bundle: {told}", hint=HINT)


def is_bundle(path: Path) -> bool:
    """Whether this is a bundle by its name or its content, sound or not."""
    return path.is_file() and (path.suffix == ".zip" or zipfile.is_zipfile(path))


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """Check the whole bundle. Faults don't raise; ask for `faults` or `require_sound`.

    Raises:
        StoreError: there is no such file, or the disk is full.
    """
    with storing(
        path, "read", hint="name a bundle: a file that `orchestrator export --bundle` wrote"
    ):
        whole, bytes_ = sha256(path), size(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            manifest, runs, records = _look(path, bytes_, Path(folder))
        except Unsound as found:
            yield Bundle(path, whole, bytes_, found.faults)
        else:
            yield Bundle(path, whole, bytes_, (), manifest, runs, records)


def _look(path: Path, bytes_: int, folder: Path) -> tuple[Manifest, tuple[Run, ...], Path]:
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN as error:
        raise Unsound(f"not a whole zip archive: {error}") from error
    with archive:
        _demand(unsafe(archive, bytes_))
        _demand(member_faults(archive))
        manifest = _manifest(archive)
        records = extracted(archive, names.RECORDS, folder)
        lists = {name: list_of(archive, name) for name in _LISTS}
        runs = _runs(archive, lists[names.RUNS])
    found = examine(records)
    if isinstance(found, str):
        raise Unsound(f"{names.RECORDS}: {found}")
    _demand(_contradictions(manifest, lists, runs, found))
    return manifest, tuple(run for run, described in runs if described), records


def _demand(faults: Sequence[str]) -> None:
    if faults:
        raise Unsound(*faults)


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    """What the bundle says of itself, provided that we can read bundles of its version."""
    said = json_of(archive, names.MANIFEST)
    if not isinstance(said, dict) or said.get("format") != names.FORMAT:
        raise Unsound(f"{names.MANIFEST}: is none of AccelMatrix")
    version = said.get("version")
    if isinstance(version, int) and version > VERSION:
        raise Unsound(
            f"is of version {version}, and this AccelMatrix reads up to {VERSION};"
            f" AccelMatrix {said.get('accelmatrix')} wrote it"
        )
    manifest = valid(Manifest, said, names.MANIFEST)
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    told = {name: bytes_ for name, bytes_ in sizes.items() if name in manifest.members}
    own = {names.MANIFEST, names.SUMS}
    if told != manifest.members or sizes.keys() - told.keys() != own:
        raise Unsound(f"{names.MANIFEST}: lists other members than there are")
    return manifest


def _runs(archive: zipfile.ZipFile, entries: Sequence[Any]) -> list[tuple[Run, bool]]:
    """The runs with their matrices, and whether each is described."""
    runs = []
    for entry in entries:
        found = valid(RunEntry, entry, names.RUNS)
        matrix = None
        if found.matrix is not None:
            if found.matrix != matrix_name(found.run_id) or found.matrix not in archive.namelist():
                raise Unsound(f"{names.RUNS}: {found.run_id}: its matrix is missing")
            matrix = text_of(archive, found.matrix)
        facts = found.model_dump(exclude={"described", "matrix"})
        runs.append((Run(**facts, matrix=matrix), found.described))
    return runs


def _contradictions(
    manifest: Manifest,
    lists: Mapping[str, Sequence[Any]],
    runs: Sequence[tuple[Run, bool]],
    found: Examined,
) -> list[str]:
    """What one member says and another one denies."""
    counted = {
        "runs": len(runs),
        "records": found.records,
        "hosts": found.hosts,
        "matrices": sum(run.matrix is not None for run, _ in runs),
        "hardware": len(lists[names.HARDWARE]),
        "environments": len(lists[names.ENVIRONMENTS]),
        "artefacts": len(lists[names.ARTEFACTS]),
    }
    faults = [
        f"{names.MANIFEST}: counts {said:,} {what}, and there are {counted[what]:,}"
        for what, said in manifest.counts.model_dump().items()
        if said != counted[what]
    ]
    if found.repeated:
        faults.append(f"{names.RECORDS}: {found.repeated:,} records stand in it twice")
    faults += _unknown(names.RUNS, found.runs, {run.run_id for run, _ in runs})
    for name, key, used in (
        (names.HARDWARE, "hardware_id", found.hardware),
        (names.ENVIRONMENTS, "environment_id", found.environments),
    ):
        faults += _unknown(name, used, {row.get(key) for row in lists[name]})
    return faults


def _unknown(name: str, used: frozenset[str], known: set[Any]) -> list[str]:
    return [f"{name}: lacks {each}, to which records refer" for each in sorted(used - known)]


_LISTS = (names.RUNS, names.HARDWARE, names.ENVIRONMENTS, names.ARTEFACTS)
