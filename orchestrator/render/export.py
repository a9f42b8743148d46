"""What an export wrote."""

import json

from orchestrator.render.tables import print_line
from orchestrator.store import Exported, Wanted


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
    files = "" if exported.files == 1 else f" in {exported.files:,} files"
    print_line(f"{exported.topic}: {exported.rows:,} rows{files}: {exported.path}")
    if exported.rows == 0 and not wanted.everything:
        print_line("the default views hold none; `--all` takes every row with its marks")
