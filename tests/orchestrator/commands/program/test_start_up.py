"""Short commands import little: each heavy library takes longer than the command itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.store.store import Store

ENGINE = ("docker", "requests")
TABLES = ("numpy", "pandas", "pyarrow", "orchestrator.exchange.bundles.check")
DATABASE = ("duckdb", "orchestrator.store.store")
SCREEN = ("rich.progress", "rich.table")
MODELS = ("runner.contract.cell",)
RECORDS = ("runner.contract.record.record", "orchestrator.store.merge.merge")
_REPORT = """
import json, sys
from orchestrator.commands.main import main
sys.argv = json.loads(sys.argv[1])
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("--help",), ("pydantic", *ENGINE, *TABLES, *DATABASE, *SCREEN, *MODELS)),
        (("plan", "matrix.yaml"), (*ENGINE, *TABLES, *RECORDS, "orchestrator.running.execution")),
        (("query", "SELECT 1, now()"), (*ENGINE, *TABLES, *SCREEN, *MODELS, *RECORDS)),
    ],
    ids=lambda value: value[0] if value[0] in {"--help", "bench", "plan", "status"} else None,
)
def test_a_short_command_imports_nothing_heavy(
    tmp_path: Path, arguments: tuple[str, ...], unwanted: tuple[str, ...]
) -> None:
    Store.open(tmp_path / "results" / "benchmarks.duckdb").close()
    axes = "{model: bert-tiny, backend: cpu}"
    (tmp_path / "matrix.yaml").write_text(f"version: 1\naxes: {axes}\n", "utf-8")
    command = [sys.executable, "-c", _REPORT, json.dumps(["orchestrator", *arguments])]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    loaded = set(json.loads(output.stdout.splitlines()[-1]))
    assert loaded.isdisjoint(unwanted), loaded & set(unwanted)
