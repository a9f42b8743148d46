"""References on their way between hosts: made once, by whichever host first needed them."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.fleet.messages import Shared
from orchestrator.running.artifacts.adoption import is_reference
from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.references import REFERENCES_FOLDER, is_verified
from orchestrator.running.run_file import RunFile
from orchestrator.system.files import translate_os_errors
from runner.contract.artifact_keys import REFERENCES, reference_key
from runner.contract.cell import Cell
from runner.contract.graph import reference_kind

SUFFIX = ".npz"
SENT_BYTES = 64 << 20
"""Most bytes of a reference that is sent; a larger one is made on each host."""


def known_references(
    results: Path, run: RunFile, cells: Sequence[Cell], without: Collection[str] = ()
) -> Iterator[tuple[Shared, bytes]]:
    """The references of these cells that are at hand, as messages with their files.

    Args:
        results: the folder of all runs.
        run: the run.
        cells: those that will be verified.
        without: the names of files that need not be sent.
    """
    versions = versions_of(REFERENCES, in_images=run.launcher == "docker")
    names = {
        reference_key(run.plan.models[cell.model], reference_kind(cell), run.weights_seed, versions)
        for cell in cells
        if is_verified(cell)
    }
    for name in sorted(names):
        path = results / REFERENCES_FOLDER / f"{name}{SUFFIX}"
        if path.name in without or not path.is_file() or path.stat().st_size > SENT_BYTES:
            continue
        if is_reference(path):
            yield Shared(folder="references", path=(path.name,)), path.read_bytes()


def keep_reference(results: Path, shared: Shared, content: bytes) -> None:
    """Keep a reference that a host has made, unless one of that name is here.

    What is none is dropped: a host makes it anew where it is needed.

    Raises:
        StoreError: the results folder takes no more files.
    """
    (name, *deeper) = shared.path
    path = results / REFERENCES_FOLDER / name
    if deeper or path.suffix != SUFFIX or len(content) > SENT_BYTES or path.exists():
        return
    with translate_os_errors(path):
        path.parent.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".sent-") as folder:
            sent = Path(folder) / name
            sent.write_bytes(content)
            if is_reference(sent):
                sent.replace(path)
