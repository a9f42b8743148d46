"""The backends that hosts of a fleet have and lack, as tables or as JSON."""

from dataclasses import asdict

from analysis.results.table import Field, wrapping
from orchestrator.commands.fleet.diagnosis import FleetDiagnosis
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines

_HAVE: tuple[str | Field, ...] = ("host", Field("measures", wraps=True, essential=True))
_LACK: tuple[str | Field, ...] = (
    "host",
    *wrapping("backend"),
    Field("lacks", wraps=True),
    Field("remedy", wraps=True),
)


def print_diagnosis(diagnosis: FleetDiagnosis, *, as_json: bool) -> None:
    """Print the backends of each host, what is missing, and the way to it."""
    if as_json:
        print_json({"runs": diagnosis.runs, "lacks": [asdict(row) for row in diagnosis.lacks]})
        return
    if diagnosis.runs:
        print_lines(_HAVE, [[host, ", ".join(runs)] for host, runs in diagnosis.runs.items()])
        print_line()
    if diagnosis.lacks:
        rows = [[row.host, row.backend, row.reason, row.remedy] for row in diagnosis.lacks]
        print_lines(_LACK, rows)
