"""Write the files that are made from the code: `python -m tools.docs.pages [--check]`."""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from orchestrator.fleet.hosts_file import hosts_json_schema
from orchestrator.matrix import matrix_json_schema
from orchestrator.system.git import ROOT
from tools.docs.schema import schema_markdown
from tools.docs.sections import with_sections
from tools.docs.words import words_markdown

PAGES = (
    "README.md",
    "docs/analysis.md",
    "docs/commands.md",
    "docs/models.md",
    "docs/supported.md",
    "docs/verified.md",
)
"""Pages written by hand that hold generated sections."""


def _matrix_schema() -> str:
    return json.dumps(matrix_json_schema(), indent=2) + "\n"


def _hosts_schema() -> str:
    return json.dumps(hosts_json_schema(), indent=2) + "\n"


FILES: Mapping[str, Callable[[], str]] = {
    **{name: partial(with_sections, ROOT / name) for name in PAGES},
    "docs/hosts.schema.json": _hosts_schema,
    "docs/matrix.schema.json": _matrix_schema,
    "docs/schema.md": schema_markdown,
    "docs/words.md": words_markdown,
}


def stale(root: Path = ROOT) -> list[str]:
    """The files that differ from what the code makes."""
    return [name for name, make in FILES.items() if _read(root / name) != make()]


def write(root: Path = ROOT) -> None:
    """Make all files anew."""
    for name, make in FILES.items():
        (root / name).write_text(make(), encoding="utf-8")


def main() -> int:
    """Write the files, or check them with `--check`."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    names = stale()
    for name in names:
        sys.stderr.write(f"{name} is stale: run `make schemas` and commit it\n")
    return 1 if names else 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
