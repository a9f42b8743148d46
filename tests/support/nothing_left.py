"""The state of a user's folder after a fault and its repair: verdicts whole, nothing left over."""

import time
from collections import Counter
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER
from orchestrator.running.artifacts.references import REFERENCES_FOLDER
from orchestrator.running.artifacts.work_counts import COUNTS_FOLDER
from orchestrator.store.records.kept import KEPT_SUFFIX
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.locks import FOLDER_VARIABLE
from tests.support.workplace import Workplace

OTHER_FOLDERS = {
    *(GRAPHS_FOLDER, REFERENCES_FOLDER, COUNTS_FOLDER, "preparations", "images"),
    f"{DATABASE_NAME}{KEPT_SUFFIX}",
}
PATIENCE_S = 10.0


def assert_nothing_left(workplace: Workplace) -> None:
    """Assert one verdict for each planned cell, and no file, process, container or lock left."""
    newest = workplace.run_folder.name
    rows = workplace.ask(f"SELECT cell_id FROM benchmark_results WHERE run_id = '{newest}'")
    assert Counter(row["cell_id"] for row in rows) == Counter(workplace.planned())
    assert sorted(path.stem for path in workplace.records()) == workplace.planned()
    assert unfinished_files(workplace.folder) == []
    assert processes_of(workplace.folder) == []
    assert held_locks(workplace) == []
    assert workplace.unfinished() == []


def unfinished_files(folder: Path) -> list[str]:
    """Files under temporary names, and folders of runs that have no plan."""
    results = folder / "results"
    hidden = [path for path in folder.rglob("*") if _is_unfinished(path)]
    runs = [path for path in results.glob("[!.]*/") if path.name not in OTHER_FOLDERS]
    hidden += [path for path in runs if not (path / "run.json").exists()]
    return sorted(str(path.relative_to(folder)) for path in hidden)


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(".") or path.suffix in {".tmp", ".wal", ".new", ".unfinished"}


def processes_of(folder: Path) -> list[list[str]]:
    """Command lines of processes that work in the folder; those about to end may do so."""
    deadline = time.monotonic() + PATIENCE_S
    while processes := _processes_of(folder):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return processes


def _processes_of(folder: Path) -> list[list[str]]:
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if any(word.startswith(str(folder)) for word in line)]


def held_locks(workplace: Workplace) -> list[str]:
    """Locks of databases and devices that somebody holds, and notes of who does."""
    devices = Path(workplace.environment.get(FOLDER_VARIABLE, workplace.folder / "locks"))
    locks = [*devices.glob("*.lock"), *workplace.folder.glob("results/*.lock")]
    return [str(path) for path in (*filter(_is_held, locks), *devices.glob("*.holder"))]


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
