"""Digests of base images: `python -m tools.digests COMMAND`.

`check` compares `images/bases.json` with the Dockerfiles, `check --require` insists that every
digest is known, `fill` asks the registries for them. No digest is written that no registry said.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.images.lock import DIGEST
from orchestrator.images.source import SourceFolders, find_source
from orchestrator.system.git import ROOT
from runner.contract.files import write_atomic

BASES = ROOT / "images/bases.json"


class DigestError(Exception):
    """A digest is wrong, or cannot be had."""


def faults(root: Path = ROOT, *, require: bool = False) -> Iterator[str]:
    """What is wrong with the digests of base images."""
    digests = json.loads((root / "images/bases.json").read_text("utf-8"))
    bases = _bases(root)
    yield from (f"{base} is no Dockerfile's base" for base in digests if base not in bases)
    for base in sorted(bases):
        if base not in digests:
            yield f"{base} is missing"
        elif digests[base] is None:
            if require:
                yield f"{base} has no digest: `python -m tools.digests fill` asks its registry"
        elif not DIGEST.fullmatch(str(digests[base])):
            yield f"{base}: {digests[base]!r} is no digest"


def fill(root: Path = ROOT, docker: str = "docker") -> None:
    """Pull each base by its tag, and write the digest that its registry says.

    Raises:
        DigestError: a registry does not answer, or the image never came from one.
    """
    digests = {base: _digest(base, docker) for base in sorted(_bases(root))}
    write_atomic(root / "images/bases.json", json.dumps(digests, indent=2) + "\n")


def _bases(root: Path) -> set[str]:
    folders = (path.parent.name for path in (root / "images").glob("*/Dockerfile"))
    sources = (find_source(name, SourceFolders.of(root)) for name in folders)
    return {base for source in sources if source and (base := source.base_image())}


def _digest(base: str, docker: str) -> str:
    """The digest that a registry gave this tag; an image that was made here has none."""
    for command in (["pull", "--quiet", base], ["image", "inspect", base]):
        done = subprocess.run([docker, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise DigestError(f"{base}: {done.stderr.strip()}")
    (image,) = json.loads(done.stdout)
    for name in image["RepoDigests"] or ():
        digest = str(name).rpartition("@")[2]
        if DIGEST.fullmatch(digest):
            return digest
    raise DigestError(f"{base}: no registry has told a digest of it")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check or fill digests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare bases.json with the Dockerfiles")
    check.add_argument("--require", action="store_true", help="insist that each digest is known")
    commands.add_parser("fill", help="ask the registries for the digests of base images")
    options = parser.parse_args(arguments)
    messages = []
    try:
        if options.command == "fill":
            fill()
        else:
            messages = [f"{BASES.name}: {fault}" for fault in faults(require=options.require)]
    except DigestError as error:
        messages = [str(error)]
    sys.stderr.writelines(f"{message}\n" for message in messages)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
