"""What an export wrote."""

import json
from collections.abc import Iterator

from orchestrator.render.tables import print_line
from orchestrator.store import Exported, Wanted
from orchestrator.units import plural


def print_exported(exported: Exported, wanted: Wanted, *, as_json: bool) -> None:
    """How much it was, and where it lies now."""
    if as_json:
        data = {
            "topic": exported.topic,
            "output": str(exported.path),
            "rows": exported.rows,
            "files": exported.files,
        }
        print_line(json.dumps(data, indent=2))
        return
    for line in lines(exported, wanted):
        print_line(line)


def lines(exported: Exported, wanted: Wanted) -> Iterator[str]:
    """The same in words."""
    files = "" if exported.files == 1 else f" in {exported.files:,} files"
    rows = f"{exported.rows:,} {plural(exported.rows, 'row')}"
    yield f"{exported.topic}: {rows}{files}: {exported.path}"
    if exported.rows == 0 and not wanted.everything:
        yield "the default views hold none; `--all` takes every row with its marks"
