"""Time and memory in which small Parquet files that would take all memory are refused or read.

Each goes through each door in a process of its own: a record of a run, a file and a folder to
merge, a bundle to verify and to merge. The limits hold for every one of them, libraries included;
the child that reads has limits of its own.
"""

import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from orchestrator.exchange.bundles.archive import Member, write_archive
from orchestrator.exchange.bundles.check import merge_bundle, open_bundle
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.screen.words.records import record_words
from orchestrator.store.records.validate import read_record
from orchestrator.store.store import Store
from orchestrator.system.parquet import read_table
from performance.scratch import write_records
from runner.contract.errors import BenchError
from runner.measure.memory.readers import ResidentReader
from tests.support.hostile_parquet import HOSTILE_FILES

MOST_SECONDS, MOST_BYTES = 2.0, 300_000_000


def main() -> int:
    """Measure and print a table; the exit code is 1 if a limit was passed."""
    if sys.argv[1:]:
        return _refuse(sys.argv[1], Path(sys.argv[2]))
    worst = {"seconds": 0.0, "bytes": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in _made(Path(folder)).items():
            for door in _DOORS:
                measured = _measured(door, path)
                worst = {key: max(worst[key], measured[key]) for key in worst}
                figures = f"{measured['seconds']:5.2f} s  {measured['bytes'] / 1e6:4.0f} MB"
                print(f"  {name:<36} {door:<14} {figures}", flush=True)
    print(f"at most {worst['seconds']:.2f} s, {worst['bytes'] / 1e6:.0f} MB")
    print(json.dumps({"measurement": "hostile_parquet", "limit_s": MOST_SECONDS, **worst}))
    return int(worst["seconds"] > MOST_SECONDS or worst["bytes"] > MOST_BYTES)


def _made(folder: Path) -> Mapping[str, Path]:
    """The files, and beside each a bundle of the same name that holds it."""
    (sound := folder / "sound").mkdir()
    write_records(sound, 1)
    (record,) = sound.glob("*/*.parquet")
    with Store.open(folder / "sound.duckdb") as store:
        store.merge([record], words=record_words)
    write_bundle(folder / "sound.duckdb", (), folder / "sound.zip", force=False)
    made, table = {}, read_table(record)
    for name, make in HOSTILE_FILES.items():
        content = make(table)
        (place := folder / name.replace(" ", "-")).mkdir()
        made[name] = place / f"{record.stem}.parquet"
        made[name].write_bytes(content)
        _write_bundle(folder / "sound.zip", content, made[name].with_suffix(".zip"))
    return made


def _write_bundle(sound: Path, records: bytes, output: Path) -> None:
    """The bundle with other records, whose sizes and checksums are right."""
    with zipfile.ZipFile(sound) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != Member.SUMS}
    members[Member.RECORDS] = records
    manifest = json.loads(members[Member.MANIFEST])
    manifest["members"] = {
        name: len(content) for name, content in members.items() if name != Member.MANIFEST
    }
    members[Member.MANIFEST] = json.dumps(manifest).encode()
    with output.open("wb") as file:
        write_archive(file, members)


def _measured(door: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "performance.hostile_parquet", door, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _verify(path: Path, store: Store) -> None:
    del store
    with open_bundle(path.with_suffix(".zip")) as bundle:
        bundle.require_sound()


def _merge_bundle(path: Path, store: Store) -> None:
    with open_bundle(path.with_suffix(".zip")) as bundle:
        merge_bundle(bundle, store)


_DOORS: Mapping[str, Callable[[Path, Store], object]] = {
    "record": lambda path, _: read_record(path),
    "merge FILE": lambda path, store: store.merge([path], words=record_words).require_complete(),
    "merge FOLDER": lambda path, store: store.merge(
        [path.parent], words=record_words
    ).require_complete(),
    "verify bundle": _verify,
    "merge bundle": _merge_bundle,
}


def _refusal_s(door: str, path: Path, store: Store) -> float:
    """Seconds until a file is refused, or read as the few rows that it has, in an open database."""
    started = time.perf_counter()
    with suppress(BenchError):
        _DOORS[door](path, store)
    return time.perf_counter() - started


def _refuse(door: str, path: Path) -> int:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder, "db")) as store:
        seconds = _refusal_s(door, path, store)
    print(json.dumps({"seconds": round(seconds, 3), "bytes": ResidentReader().peak_bytes()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
