"""Write synthetic results: `python -m performance synthesise --rows N --output DIR`.

No device made them, and every row says so: `orchestrator merge DIR --scratch` takes them into a
database of their own, any other refuses them.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.system.text import format_size
from performance.synthetic import synthesise
from runner.contract.errors import BenchError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the results that the command line asks for; returns the exit code."""
    options = _parser().parse_args(arguments)
    files = []
    try:
        for path, written in synthesise(options.output, options.rows, options.seed):
            files.append(path)
            print(f"{written:,} of {options.rows:,} results written", file=sys.stderr)
    except BenchError as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    size = sum(path.stat().st_size for path in files)
    if options.json:
        paths = [str(path) for path in files]
        print(json.dumps({"rows": options.rows, "bytes": size, "files": paths}, indent=2))
        return 0
    folder = options.output
    print(f"{options.rows:,} synthetic results in {folder}: {format_size(size)}")
    database = folder / "scratch.duckdb"
    print(f"merge them with `orchestrator merge {folder} --scratch --database {database}`")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m performance synthesise", description=__doc__)
    parser.add_argument("--rows", type=_positive, required=True, help="number of results")
    parser.add_argument("--output", type=Path, required=True, help="a new or empty folder")
    parser.add_argument("--seed", type=int, default=0, help="the same seed writes the same")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
