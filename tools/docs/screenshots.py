"""Draw the docs' screenshots anew: `python -m tools.docs.screenshots [FOLDER]`.

Without a folder a small benchmark runs first, in a temporary one: some minutes on a quiet machine.
What it prints becomes the README's sample as well. A folder that holds `results` already is shown
as it is, its last run in place of a new one, and the README stays.
"""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pyte

from tools.docs.picture import drawn, plain_lines, prompt_lines, screen_after

ROOT = Path(__file__).parents[2]
DOCS, README = ROOT / "docs", ROOT / "README.md"
MODEL = "bert-base-uncased"
RUN = (
    f"bench --model {MODEL} --runtime torch,openvino --precision fp32,int8 --batch-size 1,8"
    " --launcher process"
)
_SAMPLE = re.compile(r"(?<=<!-- sample -->\n).*?(?=<!-- /sample -->)", re.DOTALL)
SCREENS: Mapping[str, str] = {
    "status": "status",
    "query": "query latest_results",
    "doctor": "doctor",
    "models": "models list --family text_generation",
}
"""The pictures beside that of a run, each with its command."""


def draw_all(folder: Path, docs: Path) -> list[str]:
    """Draw every picture in this working folder; the commands that failed, with their status."""
    run = "status last" if (folder / "results").exists() else RUN
    failed = []
    with chdir(folder):
        for name, command in {"run": run, **SCREENS}.items():
            screen, code = _screen_after(command)
            (docs / f"{name}.svg").write_text(drawn(screen, f"orchestrator {command}"), "utf-8")
            if code:
                last = "".join(plain_lines(screen)[-1:])
                failed.append(f"{command}: exit status {code}: {last}")
            elif command == RUN:
                README.write_text(with_sample(README.read_text("utf-8"), screen), "utf-8")
    return failed


def _screen_after(command: str) -> tuple[pyte.Screen, int]:
    program = Path(sys.executable).with_name("orchestrator")
    return screen_after([str(program), *command.split()])


def with_sample(text: str, screen: pyte.Screen) -> str:
    """The README with what the benchmark printed, from the heading of its results on."""
    lines = plain_lines(screen)
    heading = next(number for number, line in enumerate(lines) if line.startswith(f"{MODEL}, "))
    sample = "\n".join([*prompt_lines(f"orchestrator {RUN}"), *lines[heading:]])
    return _SAMPLE.sub(lambda _: f"```console\n{sample}\n```\n", text)


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
