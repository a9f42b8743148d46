"""Bundles are checked as a whole before anything in them is believed or merged."""

import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from orchestrator.exchange.bundles.archive import (
    BUNDLE_VERSION,
    BundleManifest,
    Member,
    RunEntry,
    content_sha256,
    damaged_members,
    is_exact,
    matrix_name,
    open_archive,
    read_json,
    read_list,
    read_text,
    unsafe_members,
    validated,
)
from orchestrator.screen.words.records import record_words
from orchestrator.store.health.incoming import RecordSummary, summarise_records
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.whole_runs import undescribed_runs
from orchestrator.store.records.find import id_fault
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from orchestrator.system.files import REMEDY, translate_os_errors
from orchestrator.system.zip_files import ZIP_ERRORS
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.files import STREAM_BYTES, open_plain

INSTALL_HINT = "install the newer AccelMatrix that wrote it"
_DAMAGED_HINT = "ask for the bundle once more; `orchestrator verify` names every fault"
_PATH_HINT = "name a bundle: a file that `orchestrator export --bundle FILE` wrote"
_UNPACKING_HINT = f"{REMEDY}, or let `TMPDIR` name another folder"
_SHOWN_FAULTS = 3
_FORMAT = BundleManifest.model_fields["format"].default
_LISTS = (Member.RUNS, Member.HARDWARE, Member.ENVIRONMENTS, Member.ARTEFACTS)
_NOT_EXACT = (
    "is not byte for byte what `orchestrator export --bundle FILE` writes: its headers were"
    " changed, it was packed anew, or something stands before, between or behind its members"
)


@dataclass(frozen=True)
class Bundle:
    """A checked archive; its records can be read until it is closed."""

    path: Path
    sha256: str
    bytes: int
    faults: tuple[str, ...] = ()
    manifest: BundleManifest | None = None
    runs: tuple[Run, ...] = ()
    records: Path | None = None
    impossible: Damaged | None = None
    """Its records that no measurement can have given: a merge leaves them out."""
    newer: bool = False
    """True if its only fault is that a newer AccelMatrix wrote it."""

    @property
    def sound(self) -> bool:
        """True if it has no fault, and a merge takes all of its records."""
        return not self.faults and self.impossible is None

    @property
    def left_out(self) -> int:
        if self.impossible is None or self.manifest is None:
            return 0
        count = self.impossible.records
        return self.manifest.counts.records if count is None else count

    def require_sound(self) -> None:
        if self.newer:
            raise StoreError(f"{self.path}: {'; '.join(self.faults)}", hint=INSTALL_HINT)
        if self.faults:
            more = len(self.faults) - _SHOWN_FAULTS
            message = "; ".join(self.faults[:_SHOWN_FAULTS])
            message += f"; and {more} more" if more > 0 else ""
            raise StoreError(f"{self.path}: damaged bundle: {message}", hint=_DAMAGED_HINT)


def is_bundle(path: Path) -> bool:
    """True if this is a bundle by its name or its content, sound or not; it may be a link."""
    return path.is_file() and (path.suffix == ".zip" or zipfile.is_zipfile(path))


def has_manifest(path: Path) -> bool:
    """True if this is an archive with the members by which every bundle of ours is known."""
    try:
        with (
            open_plain(path.resolve(), STREAM_BYTES, is_named=True) as file,
            open_archive(file) as archive,
        ):
            return {Member.MANIFEST, Member.SUMS, Member.RECORDS} <= {*archive.namelist()}
    except (DamagedFile, *ZIP_ERRORS):
        return False


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Check the whole bundle. Faults don't raise; ask for `faults` or `require_sound`."""
    with ExitStack() as closing:
        with translate_os_errors(path, "cannot be read", _PATH_HINT):
            try:
                file = closing.enter_context(
                    open_plain(path.resolve(), STREAM_BYTES, is_named=True)
                )
            except DamagedFile as damage:
                raise StoreError(
                    f"{path}: cannot be read: it {damage}", hint=_PATH_HINT
                ) from damage
            bundle = Bundle(path, content_sha256(file), file.tell())
        with translate_os_errors(path, _unpacking_problem(), _UNPACKING_HINT):
            folder = closing.enter_context(tempfile.TemporaryDirectory())
        yield _checked(bundle, file, Path(folder))


def merge_bundle(bundle: Bundle, store: Store, *, keep: bool = True) -> MergeReport:
    """Merge what the database lacks of a bundle's records and descriptions of runs.

    Records that no measurement can have given are left out and reported, as are newer measurements.
    """
    bundle.require_sound()
    runs = undescribed_runs(bundle.runs, store.described_runs())
    files = [bundle.records] if bundle.records else []
    merged = store.merge(files, *runs, words=record_words, elsewhere=True, keep=keep)
    return replace(
        merged, damaged=tuple(replace(file, path=bundle.path) for file in merged.damaged)
    )


def _unpacking_problem() -> str:
    try:
        return f"cannot be unpacked into the temporary folder {tempfile.gettempdir()}"
    except OSError:
        return "cannot be unpacked into no folder"


def _checked(bundle: Bundle, file: IO[bytes], folder: Path) -> Bundle:
    try:
        archive = open_archive(file)
    except DamagedFile as damage:
        return replace(bundle, faults=damage.reasons)
    with archive:
        try:
            _require(unsafe_members(archive, bundle.bytes))
            # Before anything else is required that a newer version may do otherwise.
            if newer := _newer_version(archive):
                return replace(bundle, faults=(newer,), newer=True)
            return _read(bundle, archive, file, folder)
        except DamagedFile as damage:
            return replace(bundle, faults=damage.reasons)


def _require(faults: Sequence[str]) -> None:
    if faults:
        raise DamagedFile(*faults)


def _newer_version(archive: zipfile.ZipFile) -> str | None:
    try:
        manifest = read_json(archive, Member.MANIFEST)
    except (DamagedFile, KeyError, *ZIP_ERRORS):
        return None  # the check of all members says what is wrong with it
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return None
    version = manifest.get("version")
    if not isinstance(version, int) or version <= BUNDLE_VERSION:
        return None
    return (
        f"is of version {version}, and this AccelMatrix reads up to {BUNDLE_VERSION};"
        f" AccelMatrix {manifest.get('accelmatrix')} wrote it"
    )


def _read(bundle: Bundle, archive: zipfile.ZipFile, file: IO[bytes], folder: Path) -> Bundle:
    _require(damaged_members(archive))
    _require([] if is_exact(archive, file) else [_NOT_EXACT])
    manifest = _manifest(archive)
    records = folder / Member.RECORDS
    with (
        translate_os_errors(bundle.path, _unpacking_problem(), _UNPACKING_HINT),
        archive.open(Member.RECORDS) as member,
        records.open("wb") as file_of_records,
    ):
        shutil.copyfileobj(member, file_of_records)
    lists: dict[str, list[dict[str, Any]]] = {name: read_list(archive, name) for name in _LISTS}
    runs = _runs(archive, lists[Member.RUNS])
    examined = summarise_records(records)
    if isinstance(examined, str):
        raise DamagedFile(f"{Member.RECORDS}: {examined}")
    _require(_inconsistencies(manifest, lists, runs, examined))
    described = tuple(run for run, is_described in runs if is_described)
    impossible = examined.impossible and replace(examined.impossible, path=bundle.path)
    return replace(
        bundle, manifest=manifest, runs=described, records=records, impossible=impossible
    )


def _manifest(archive: zipfile.ZipFile) -> BundleManifest:
    data = read_json(archive, Member.MANIFEST)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise DamagedFile(f"{Member.MANIFEST}: is not an AccelMatrix manifest")
    manifest = validated(BundleManifest, data, Member.MANIFEST)
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    own = {Member.MANIFEST, Member.SUMS}
    listed = {name: bytes_ for name, bytes_ in sizes.items() if name in manifest.members}
    if listed != manifest.members or sizes.keys() - listed.keys() != own:
        raise DamagedFile(f"{Member.MANIFEST}: lists other members than there are")
    return manifest


def _runs(archive: zipfile.ZipFile, entries: Sequence[Any]) -> list[tuple[Run, bool]]:
    runs = []
    for data in entries:
        entry = validated(RunEntry, data, Member.RUNS)
        if (fault := id_fault({"run_id": entry.run_id})) is not None:
            raise DamagedFile(f"{Member.RUNS}: {fault}")
        matrix = None
        if entry.matrix is not None:
            if entry.matrix != matrix_name(entry.run_id) or entry.matrix not in archive.namelist():
                raise DamagedFile(f"{Member.RUNS}: {entry.run_id}: its matrix is missing")
            matrix = read_text(archive, entry.matrix)
        facts = entry.model_dump(exclude={"described", "matrix"})
        runs.append((Run(**facts, matrix=matrix), entry.described))
    return runs


def _inconsistencies(
    manifest: BundleManifest,
    lists: Mapping[str, Sequence[Any]],
    runs: Sequence[tuple[Run, bool]],
    examined: RecordSummary,
) -> list[str]:
    actual = {
        "runs": len(runs),
        "records": examined.records,
        "hosts": examined.hosts,
        "matrices": sum(run.matrix is not None for run, _ in runs),
        "hardware": len(lists[Member.HARDWARE]),
        "environments": len(lists[Member.ENVIRONMENTS]),
        "artefacts": len(lists[Member.ARTEFACTS]),
    }
    faults = [
        f"{Member.MANIFEST}: counts {count:,} {noun}, and there are {actual[noun]:,}"
        for noun, count in manifest.counts.model_dump().items()
        if count != actual[noun]
    ]
    if examined.repeated:
        faults.append(f"{Member.RECORDS}: {examined.repeated:,} records stand in it twice")
    run_ids = Counter(run.run_id for run, _ in runs)
    twice = [run_id for run_id, count in run_ids.items() if count > 1]
    faults += [f"{Member.RUNS}: {run_id} stands in it twice" for run_id in twice]
    faults += _missing(Member.RUNS, examined.runs, [*run_ids])
    machines = [row.get("hardware_id") for row in lists[Member.HARDWARE]]
    faults += _missing(Member.HARDWARE, examined.hardware, machines)
    environments = [row.get("environment_id") for row in lists[Member.ENVIRONMENTS]]
    return faults + _missing(Member.ENVIRONMENTS, examined.environments, environments)


def _missing(name: str, used: frozenset[str], known: Sequence[object]) -> list[str]:
    missing = sorted(used - {key for key in known if isinstance(key, str)})
    return [f"{name}: lacks {identifier}, to which records refer" for identifier in missing]
