"""Files that are made from the code: `python -m orchestrator.generated [--check]`."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.checkout import ROOT
from orchestrator.matrix import matrix_json_schema
from orchestrator.readme import readme
from orchestrator.store import schema_markdown


def _matrix_schema() -> str:
    return json.dumps(matrix_json_schema(), indent=2) + "\n"


def _commands_page() -> str:
    from orchestrator.cli.commands_page import commands_markdown

    return commands_markdown()


FILES: Mapping[str, Callable[[], str]] = {
    "README.md": readme,
    "docs/commands.md": _commands_page,
    "docs/matrix.schema.json": _matrix_schema,
    "docs/schema.md": schema_markdown,
}


def stale(root: Path = ROOT) -> list[str]:
    """The files that differ from what the code says."""
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
