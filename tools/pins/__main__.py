"""Write every list of hashes anew, or check them: `python -m tools.pins [--check]`."""

import argparse
import shutil
import sys
from pathlib import Path

from tools.pins.files import faults, hash_files, write
from tools.pins.published import LockError


def main() -> int:
    """Write the lists with uv, which asks the index; `--check` compares them with their sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare alone; needs no network")
    parser.add_argument("--uv", default=_uv(), help="the program uv (default: %(default)s)")
    options = parser.parse_args()
    if not options.check:
        return _write(options.uv)
    messages = [message for file in hash_files() for message in faults(file)]
    for message in messages:
        sys.stderr.write(f"{message}: run `make pins` and commit it\n")
    return 1 if messages else 0


def _write(uv: str) -> int:
    for file in hash_files():
        try:
            write(file, uv)
        except (LockError, OSError) as error:
            sys.stderr.write(f"{file.path}: {error}\n")
            return 1
    return 0


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


if __name__ == "__main__":
    sys.exit(main())
