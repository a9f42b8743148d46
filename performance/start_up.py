"""Time of `orchestrator --help`, against importing typer alone."""

import subprocess
import sys

from performance.comparison import compare

ROUNDS = 15
LIMIT = 2.0


def main() -> None:
    """Measure and print."""
    help_ = [sys.executable, "-m", "orchestrator", "--help"]
    typer = [sys.executable, "-c", "import typer"]
    compare("start_up", lambda: _run(help_), lambda: _run(typer), ROUNDS, LIMIT).report(
        "orchestrator --help", "python -c 'import typer'"
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
