"""Draw the docs' screenshots anew: `python -m tools.docs.screenshots [FOLDER]`.

Without a folder a small benchmark runs first, in a temporary one: some minutes on a quiet machine.
A folder that holds `results` already is shown as it is, its last run in place of a new one.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.docs.picture import drawn, screen_after

DOCS = Path(__file__).parents[2] / "docs"
RUN = (
    "bench --model bert-base-uncased --backend cpu,openvino --precision fp32,int8 --batch-size 1,8"
)
SCREENS: Mapping[str, str] = {
    "status": "status",
    "query": "query latest_results",
    "doctor": "doctor",
    "models": "models list --family text_generation",
}
"""The pictures beside that of a run, each with its command."""


def draw_all(folder: Path, docs: Path) -> list[str]:
    """Draw every picture in this working folder; the commands that failed."""
    run = "status last" if (folder / "results").exists() else RUN
    with chdir(folder):
        return [
            command
            for name, command in {"run": run, **SCREENS}.items()
            if not _draw(command, docs / f"{name}.svg")
        ]


def _draw(command: str, path: Path) -> bool:
    program = Path(sys.executable).with_name("orchestrator")
    screen, code = screen_after([str(program), *command.split()])
    path.write_text(drawn(screen, f"orchestrator {command}"), encoding="utf-8")
    return code == 0


def main() -> int:
    """Draw all, and end with 1 if a command did not end well."""
    os.environ.pop("NO_COLOR", None)
    if len(sys.argv) > 1:
        failed = draw_all(Path(sys.argv[1]), DOCS)
    else:
        with TemporaryDirectory() as folder:
            failed = draw_all(Path(folder), DOCS)
    for command in failed:
        sys.stderr.write(f"did not end well: orchestrator {command}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
