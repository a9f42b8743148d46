"""Bundles are checked before anything in them is believed."""

import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.bundles import manifest as names
from orchestrator.bundles.archive import (
    BROKEN,
    Unsound,
    extracted,
    json_of,
    list_of,
    member_faults,
    sha256,
    size,
    text_of,
    unpacking,
    unsafe,
    valid,
)
from orchestrator.bundles.manifest import VERSION, Manifest, RunEntry, matrix_name
from orchestrator.bundles.twin import is_its_own_twin
from orchestrator.store import Examined, MergeReport, Run, Store, examine, id_fault, untold
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import StoreError


def contradictions(
    manifest: Manifest,
    lists: Mapping[str, Sequence[Any]],
    runs: Sequence[tuple[Run, bool]],
    found: Examined,
) -> list[str]:
    """All of it; `found` is what the records say."""
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
    told = Counter(run.run_id for run, _ in runs)
    faults += [f"{names.RUNS}: {run_id} stands in it twice" for run_id, n in told.items() if n > 1]
    faults += _unknown(names.RUNS, found.runs, [*told])
    for name, key, used in (
        (names.HARDWARE, "hardware_id", found.hardware),
        (names.ENVIRONMENTS, "environment_id", found.environments),
    ):
        faults += _unknown(name, used, [row.get(key) for row in lists[name]])
    return faults


def _unknown(name: str, used: frozenset[str], known: Sequence[object]) -> list[str]:
    lacking = used - {each for each in known if isinstance(each, str)}
    return [f"{name}: lacks {each}, to which records refer" for each in sorted(lacking)]


SHOWN = 3
ASK_AGAIN = "ask for the bundle once more; `orchestrator verify` names every fault"
INSTALL = "install the newer AccelMatrix that wrote it"
NAME_ONE = "name a bundle: a file that `orchestrator export --bundle` wrote"


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
    newer: bool = False
    """Whether nothing is wrong with it but that a newer AccelMatrix wrote it."""

    def require_sound(self) -> None:
        """Insist that nothing is wrong.

        Raises:
            StoreError: it names the first faults.
        """
        if self.faults:
            more = len(self.faults) - SHOWN
            told = "; ".join(self.faults[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise StoreError(
                f"{self.path}: no sound bundle: {told}", hint=INSTALL if self.newer else ASK_AGAIN
            )


class _Newer(Unsound):
    """It is of a version that nobody knew when this was written."""


def is_bundle(path: Path) -> bool:
    """Whether this is a bundle by its name or its content, sound or not."""
    return path.is_file() and (path.suffix == ".zip" or zipfile.is_zipfile(path))


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """Check the whole bundle. Faults don't raise; ask for `faults` or `require_sound`.

    Raises:
        StoreError: there is no such file, or no room to unpack it.
    """
    if path.exists() and not path.is_file():
        raise StoreError(f"{path}: cannot be read: it is no plain file", hint=NAME_ONE)
    with translate_os_errors(path, "cannot be read", hint=NAME_ONE):
        whole, bytes_ = sha256(path), size(path)
    with ExitStack() as closing:
        with unpacking(path):
            folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        try:
            manifest, runs, records = _look(path, bytes_, folder)
        except Unsound as found:
            yield Bundle(path, whole, bytes_, found.faults, newer=isinstance(found, _Newer))
        else:
            yield Bundle(path, whole, bytes_, (), manifest, runs, records)


def _look(path: Path, bytes_: int, folder: Path) -> tuple[Manifest, tuple[Run, ...], Path]:
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN as error:
        raise Unsound(f"not a whole zip archive: {error}") from error
    with archive:
        _demand(unsafe(archive, bytes_))
        _require_known_version(archive)
        _demand(member_faults(archive))
        if not is_its_own_twin(archive, path):
            raise Unsound(_OTHER_BYTES)
        manifest = _manifest(archive)
        with unpacking(path):
            records = extracted(archive, names.RECORDS, folder)
        lists = {name: list_of(archive, name) for name in _LISTS}
        runs = _runs(archive, lists[names.RUNS])
    found = examine(records)
    if isinstance(found, str):
        raise Unsound(f"{names.RECORDS}: {found}")
    _demand(contradictions(manifest, lists, runs, found))
    return manifest, tuple(run for run, described in runs if described), records


def _demand(faults: Sequence[str]) -> None:
    if faults:
        raise Unsound(*faults)


def _require_known_version(archive: zipfile.ZipFile) -> None:
    """Insist on it before anything else is demanded that a newer one may do otherwise."""
    try:
        said = json_of(archive, names.MANIFEST)
    except (Unsound, KeyError, *BROKEN):
        return  # whoever looks at all members says what is wrong with it
    version = said.get("version") if isinstance(said, dict) else None
    if isinstance(version, int) and version > VERSION and said.get("format") == names.FORMAT:
        raise _Newer(
            f"is of version {version}, and this AccelMatrix reads up to {VERSION};"
            f" AccelMatrix {said.get('accelmatrix')} wrote it"
        )


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    """What the bundle says of itself."""
    said = json_of(archive, names.MANIFEST)
    if not isinstance(said, dict) or said.get("format") != names.FORMAT:
        raise Unsound(f"{names.MANIFEST}: is none of AccelMatrix")
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
        if (reason := id_fault({"run_id": found.run_id})) is not None:
            raise Unsound(f"{names.RUNS}: {reason}")
        matrix = None
        if found.matrix is not None:
            if found.matrix != matrix_name(found.run_id) or found.matrix not in archive.namelist():
                raise Unsound(f"{names.RUNS}: {found.run_id}: its matrix is missing")
            matrix = text_of(archive, found.matrix)
        facts = found.model_dump(exclude={"described", "matrix"})
        runs.append((Run(**facts, matrix=matrix), found.described))
    return runs


_LISTS = (names.RUNS, names.HARDWARE, names.ENVIRONMENTS, names.ARTEFACTS)
_OTHER_BYTES = (
    "is not byte for byte what `orchestrator export --bundle` writes: its headers were changed, it"
    " was packed anew, or something stands before, between or behind its members"
)


def merge_bundle(bundle: Bundle, store: Store) -> MergeReport:
    """Merge a bundle's records, and what it knows of its runs unless the database knows more.

    Raises:
        StoreError: the bundle is not sound, or the database cannot take it.
    """
    bundle.require_sound()
    runs = untold(bundle.runs, store.described_runs())
    return store.merge([bundle.records] if bundle.records else [], *runs)
