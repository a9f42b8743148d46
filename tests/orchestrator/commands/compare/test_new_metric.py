"""A metric is one row: where it is added, tables, comparisons, charts and exports have it."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.results import metrics
from orchestrator.commands.compare.answer import compare_results
from orchestrator.commands.results.selection import SelectionRequest
from tests.support.databases import write_records
from tests.support.records import a_record

ROW = """_less(
    *("on_device", "device_median_ms", "time on the device", "ms"),
    brief="device ms",
    report="on the device, ms",
),
"""
"""A row of a field that records have and no view shows."""
BEFORE = '        _less("load", '
PROGRAM = """
import sys, types
from pathlib import Path
source, row, before, folder = sys.argv[1:]
metrics = types.ModuleType("analysis.results.metrics")
sys.modules[metrics.__name__] = metrics
text = Path(source).read_text()
assert before in text
exec(compile(text.replace(before, row + before), source, "exec"), metrics.__dict__)

from orchestrator.commands.main import run
from tests.support.databases import write_records
from tests.support.records import a_record

TIMES = {"torch": 0.004, "openvino": 0.002}
records = [
    a_record(runtime=runtime, backend="openvino" if runtime == "openvino" else "cpu",
        device_median_s=time, grade="A")
    for runtime, time in TIMES.items()
]
database = write_records(Path(folder), records)
COMMANDS = (
    ["compare", "--by", "backend", "--metric", "on-device", "--chart", f"{folder}/chart.html"],
    ["status", "last", "--wide"],
    ["report", "performance", "--format", "markdown", "--output", "-"],
    ["export", "performance", "--output", f"{folder}/all.csv"],
)
for command in COMMANDS:
    sys.argv = ["orchestrator", *command, "--database", str(database)]
    assert run() == 0, command
"""


@pytest.mark.slow
def test_a_row_brings_a_metric_everywhere(tmp_path: Path) -> None:
    arguments = [str(metrics.__file__), ROW, BEFORE, str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "time on the device by backend" in done.stdout
    assert "device ms" in done.stdout
    assert "| on the device, ms |" in done.stdout
    assert "time on the device" in (tmp_path / "chart.html").read_text()
    with (tmp_path / "all.csv").open() as file:
        values = {row["runtime"]: row["device_median_ms"] for row in csv.DictReader(file)}
    assert values == {"torch": "4.0", "openvino": "2.0"}


def test_energy_per_token_is_a_metric(tmp_path: Path) -> None:
    generated = {"mode": "generation", "new_tokens": 8, "energy_scope": "package"}
    joules = {"cpu": 0.4, "openvino": 0.1}
    records = [
        a_record(backend=backend, energy_per_token_joules=value, grade="A", **generated)
        for backend, value in joules.items()
    ]
    request = SelectionRequest(write_records(tmp_path, records))
    comparison = compare_results(request, "backend", metric="energy_per_token")
    (group,) = comparison.groups
    assert {row.name: row.result.value for row in group.rows} == joules
    assert comparison.metric.heading == "energy per token, J"
