"""What `orchestrator dev` has done."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.render.lines import print_line
from orchestrator.system.text import format_size


def tell_written(written: int, rows: int) -> None:
    """One line of progress on stderr."""
    sys.stderr.write(f"{written:,} of {rows:,} results written\n")


def print_synthesised(files: Sequence[Path], folder: Path, rows: int, *, as_json: bool) -> None:
    """What there is now, and how to ask it."""
    size = sum(path.stat().st_size for path in files)
    if as_json:
        paths = [str(path) for path in files]
        print_line(json.dumps({"rows": rows, "bytes": size, "files": paths}, indent=2))
        return
    print_line(f"{rows:,} synthetic results in {folder}: {format_size(size)}")
    database = folder / "scratch.duckdb"
    print_line(f"merge them with `orchestrator merge {folder} --scratch --database {database}`")
