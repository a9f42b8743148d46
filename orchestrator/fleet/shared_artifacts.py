"""References and small graphs on their way between hosts: made once, by whichever needed them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from pydantic import TypeAdapter

from orchestrator.fleet.messages import Shared
from orchestrator.running.artifacts.cache import (
    graph_files,
    is_reference,
    take_file,
    take_graph,
    versions_of,
)
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER, executes_graph, graph_name
from orchestrator.running.artifacts.references import REFERENCES_FOLDER, is_verified
from orchestrator.running.run_file import RunFile
from orchestrator.system.files import translate_os_errors
from orchestrator.system.zip_files import ZIP_ERRORS, stored_entries
from runner.contract.artifact_keys import GRAPHS, REFERENCES, reference_key
from runner.contract.cell import Cell, FileName
from runner.contract.errors import Unsupported
from runner.contract.graph import DYNAMIC, GRAPH_FILE, fixed_shape, read_graph, reference_kind

SENT_BYTES = 64 << 20
"""Most bytes of what is sent; a larger graph or reference is made on each host."""
_SUFFIX = ".npz"
_FILE_NAME: TypeAdapter[str] = TypeAdapter(FileName)
_NAMES_BYTES = 64 << 10
"""Most bytes of the names in what is sent."""


def artifacts_at_hand(results: Path) -> set[Shared]:
    references = (results / REFERENCES_FOLDER).glob(f"*{_SUFFIX}")
    graphs = (file.parent for file in (results / GRAPHS_FOLDER).glob(f"*/*/{GRAPH_FILE}"))
    return {
        *(Shared(folder="references", path=(path.name,)) for path in references),
        *(Shared(folder="graphs", path=(path.parent.name, path.name)) for path in graphs),
    }


def wanted_artifacts(run: RunFile, cells: Sequence[Cell]) -> dict[Shared, Cell]:
    """The artefacts of these cells by what is installed here, each with a cell that needs it."""
    wanted: dict[Shared, Cell] = {}
    in_images, seed = run.launcher == "docker", run.options.weights_seed
    references = versions_of(REFERENCES, in_images=in_images)
    graphs = versions_of(GRAPHS, in_images=in_images)
    for cell in cells:
        model = run.plan.models[cell.model]
        if is_verified(cell):
            name = reference_key(model, reference_kind(cell), seed, references)
            wanted[Shared(folder="references", path=(f"{name}{_SUFFIX}",))] = cell
        if executes_graph(cell):
            name = graph_name(model, cell, seed, graphs)
            for shape in (DYNAMIC, fixed_shape(cell)):
                wanted[Shared(folder="graphs", path=(name, shape))] = cell
    return wanted


def known_artifacts(
    results: Path, run: RunFile, cells: Sequence[Cell], without: Collection[Shared] = ()
) -> Iterator[tuple[Shared, bytes]]:
    """Yield what these cells need and what is at hand, as messages with their files."""
    for shared in wanted_artifacts(run, cells):
        if shared not in without and (content := content_of(results, shared)):
            yield shared, content


def content_of(results: Path, shared: Shared) -> bytes | None:
    """The bytes that are sent of it; None if it is not there, not whole, or too large."""
    path = _path(results, shared)
    if shared.folder == "references":
        if path.is_file() and path.stat().st_size <= SENT_BYTES and is_reference(path):
            return path.read_bytes()
        return None
    with suppress(Unsupported, OSError):
        files = graph_files(read_graph(path), path)
        if sum(file.stat().st_size for file in files) <= SENT_BYTES:
            packed = BytesIO()
            with ZipFile(packed, "w") as archive:
                for file in files:
                    archive.write(file, file.name)
            return packed.getvalue()
    return None


def keep_artifact(
    results: Path, shared: Shared, content: bytes, wanted: Mapping[Shared, Cell] | None = None
) -> None:
    """Keep what was sent, unless it is here; what is damaged is dropped, since it can be made anew.

    `wanted` is what a host may have made, of which all else is dropped; None believes the sender.
    """
    path = _path(results, shared)
    if len(content) > SENT_BYTES + _NAMES_BYTES or path.exists():
        return
    if wanted is not None and shared not in wanted:
        return
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".sent-") as folder:
            draft = Path(folder) / path.name
            if shared.folder == "references":
                draft.write_bytes(content)
                if is_reference(draft):
                    take_file(draft, path)
                return
            with suppress(Unsupported):
                _unpack(content, draft)
                take_graph(draft, path, None if wanted is None else wanted[shared])


def _path(results: Path, shared: Shared) -> Path:
    return results.joinpath(shared.folder, *shared.path)


def _unpack(content: bytes, folder: Path) -> None:
    try:
        with ZipFile(BytesIO(content)) as archive:
            files = {
                _FILE_NAME.validate_python(entry.filename): archive.read(entry)
                for entry in stored_entries(archive, len(content))
            }
    except ZIP_ERRORS as error:
        raise Unsupported(f"the sent graph {folder.name}: {error}") from error
    folder.mkdir()
    for name, file in files.items():
        (folder / name).write_bytes(file)
