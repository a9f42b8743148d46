"""Time of short commands, against an empty Python program that takes turns with them.

The first turn is not counted: it leaves the bytecode of our modules, as an installation does.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from performance.scratch import make_results, merge, seconds
from runner.contract.processes import python_environment

ROUNDS = 15
ROWS = 200
MATRIX = "version: 1\naxes: {model: bert-tiny, backend: cpu, batch_size: [1, 8]}\n"
BASELINE: Sequence[str] = ("-c", "pass")


class ShortCommand(NamedTuple):
    """A command that a user waits for at the keyboard."""

    arguments: Sequence[str]
    limit: float
    """The highest ratio of its fastest start to that of the empty program."""
    exit_code: int = 0


COMMANDS: Mapping[str, ShortCommand] = {
    "help": ShortCommand(("--help",), 10),
    "error": ShortCommand(("bench", "--precision", "fp17"), 25, exit_code=2),
    "status": ShortCommand(("status",), 35),
    "query": ShortCommand(("query", "SELECT model, status FROM benchmark_results LIMIT 10"), 30),
    "plan": ShortCommand(("plan", "matrix.yaml"), 40),
}


def main() -> int:
    """Measure all commands in turns and print their ratios; 1 if one is over its limit."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "matrix.yaml").write_text(MATRIX, "utf-8")
        results = make_results(folder / "results", ROWS)
        merge(results, results / "benchmarks.duckdb", ROWS)
        times: dict[str, list[float]] = {key: [] for key in ("baseline", *COMMANDS)}
        for round_ in range(1 + ROUNDS):
            for key, times_of in times.items():
                duration = seconds(lambda key=key: _run(key, folder))  # type: ignore[misc]
                if round_:
                    times_of.append(duration)
    return _report({key: min(of) for key, of in times.items()})


def _run(key: str, folder: Path) -> None:
    command = COMMANDS.get(key)
    line, expected = BASELINE, 0
    if command:
        line, expected = ("-m", "orchestrator", *command.arguments), command.exit_code
    process = subprocess.run(
        [sys.executable, *line],
        cwd=folder,
        env=python_environment(),
        capture_output=True,
        check=False,
    )
    if process.returncode != expected:
        raise SystemExit(f"{' '.join(line)} ended with {process.returncode}:\n{process.stderr!r}")


def _report(fastest: Mapping[str, float]) -> int:
    baseline = fastest["baseline"]
    print(f"python -c pass: {baseline * 1e3:.0f} ms, the fastest of {ROUNDS}")
    ratios = {key: fastest[key] / baseline for key in COMMANDS}
    for key, command in COMMANDS.items():
        verdict = "" if ratios[key] <= command.limit else "  over its limit"
        print(
            f"orchestrator {' '.join(command.arguments)}: {fastest[key] * 1e3:.0f} ms,"
            f" {ratios[key]:.1f} times as long (at most {command.limit:g}){verdict}"
        )
    within = all(ratios[key] <= command.limit for key, command in COMMANDS.items())
    result = {key: round(ratio, 2) for key, ratio in ratios.items()}
    print(json.dumps({"measurement": "start_up", "ratios": result, "within": within}))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
