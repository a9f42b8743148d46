"""This machine's backends and images on a terminal."""

from collections.abc import Iterator, Sequence

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.diagnosis import SUPPORT_CLASSES, Diagnosis
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines

_ALL_COLUMNS: tuple[str | Field, ...] = (
    "backend",
    "launcher",
    "runs",
    "class",
    *wrapping("why", "what to do"),
)


def print_diagnoses(diagnoses: Sequence[Diagnosis], *, everything: bool, as_json: bool) -> None:
    """Print what runs here, what could and how; with `everything` each backend by each launcher."""
    if as_json:
        print_json([diagnosis.data() for diagnosis in diagnoses])
    elif everything:
        _print_all(diagnoses)
    else:
        for line in _summary(diagnoses):
            print_line(line)


def _summary(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    running = [row for row in diagnoses if row.runs]
    possible = [row for row in diagnoses if row.could_run]
    yield f"Runs here: {_by_launcher(running)}." if running else "Nothing runs here yet."
    ways: dict[str, list[Diagnosis]] = {}
    for row in possible:
        ways.setdefault(row.remedy or row.reason, []).append(row)
    for way, rows in ways.items():
        yield f"Could run: {_by_launcher(rows)}: {way}"
    reachable = {row.backend for row in (*running, *possible)}
    rest = [row for row in diagnoses if row.backend not in reachable]
    groups = {
        "Not here": [row for row in rest if row.support_class is not None],
        "Not built": [row for row in rest if row.support_class is None],
    }
    absent = [f"{words}: {', '.join(_names(rows))}." for words, rows in groups.items() if rows]
    if absent:
        yield " ".join(absent)
    yield "Why: `orchestrator doctor --all`"


def _by_launcher(rows: Sequence[Diagnosis]) -> str:
    """Backends with the launchers that they share: `cpu, qnn (simulator), by docker`."""
    launchers: dict[str, list[str]] = {}
    for row in rows:
        launchers.setdefault(row.backend, []).append(row.launcher)
    groups: dict[str, list[Diagnosis]] = {}
    for row in rows:
        groups.setdefault(" and ".join(launchers[row.backend]), []).append(row)
    return "; ".join(f"{', '.join(_names(group))}, by {ways}" for ways, group in groups.items())


def _names(rows: Sequence[Diagnosis]) -> list[str]:
    """Each backend once, with a word where a simulator stands in for its device."""
    return list(dict.fromkeys(map(_name, rows)))


def _name(row: Diagnosis) -> str:
    simulator = CATALOGUE[row.backend].simulator
    return f"{row.backend} ({simulator.word})" if simulator and row.simulated else row.backend


def _print_all(diagnoses: Sequence[Diagnosis]) -> None:
    rows = [
        (row.backend, row.launcher, row.runs, row.support_class, row.reason, row.remedy)
        for row in diagnoses
    ]
    print_lines(_ALL_COLUMNS, rows)
    print_line()
    meanings = " · ".join(f"{number} {meaning}" for number, meaning in SUPPORT_CLASSES.items())
    print_line(f"support class: {meanings} · – not built yet")
