"""Build an image from a checkout, and check that the disk has room for it first."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import APIError

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.images.image import (
    BACKEND_LABEL,
    BASE_LABEL,
    HASHES_LABEL,
    REVISION_LABEL,
    SOURCE_LABEL,
    VERSION_LABEL,
)
from orchestrator.images.image_steps import BuildSteps
from orchestrator.images.settings import ImageSettings, base_variable
from orchestrator.images.source import ImageSource
from orchestrator.system.engine import engine_errors, engine_message
from orchestrator.system.files import file_hint
from orchestrator.system.text import format_size
from runner.contract.errors import ImageError
from runner.contract.reasons import reason

STEP = "Step "
"""The beginning of the engine's line for an instruction of a Dockerfile."""

LOCAL_URLS = ("http+docker://localhost", "http+docker://localnpipe")
"""Addresses of engines whose disk is this machine's."""
FreeBytes = Callable[[Path], int]
"""Looks at the bytes that are free in a folder's file system."""

ReportLine = Callable[[str], None]
"""Takes one line about the work under way."""


def ignore(line: str) -> None:
    """A report that is not shown."""
    del line


def follow(events: Iterable[Mapping[str, Any]], report: ReportLine) -> str:
    """Report every event worth a line; returns the id of the image that was built, or nothing."""
    step = image_id = ""
    for event in events:
        if "error" in event:
            raise ImageError(reason("build_failed", step=step, error=str(event["error"]).strip()))
        for line in _lines(event):
            step = f"{line}: " if line.startswith(STEP) else step
            report(line)
        image_id = (event.get("aux") or {}).get("ID", image_id)
    return image_id


def _lines(event: Mapping[str, Any]) -> list[str]:
    if event.get("progressDetail"):
        return []
    text = event.get("stream") or event.get("status") or ""
    prefix = f"{event['id']}: " if "id" in event else ""
    return [prefix + line for line in text.splitlines() if line.strip()]


@contextmanager
def image_errors(attempt: str, hint: str) -> Iterator[None]:
    """Say what was attempted when the engine, answering, could not do it."""
    with engine_errors(attempt):
        try:
            yield
        except (APIError, ImageError) as error:
            raise ImageError(
                reason("image_attempt_failed", attempt=attempt, error=engine_message(error)),
                hint=hint,
            ) from error


def build_image(
    client: DockerClient,
    settings: ImageSettings,
    name: str,
    source: ImageSource,
    report: ReportLine,
) -> str:
    """Build the image under its reference; its steps go to `report`, every line to a log file.

    Returns its id, `sha256:…`, as the engine says it at the end of this build.
    """
    reference = settings.reference(name)
    log = settings.logs / f"build-{name}.log"
    with (
        _teed(log, BuildSteps(name, report)) as both,
        image_errors(f"{reference}: cannot be built", _hint(settings, name, source, log)),
    ):
        events = client.api.build(
            fileobj=source.context(),
            custom_context=True,
            dockerfile=source.dockerfile,
            tag=reference,
            labels=image_labels(settings, name, source),
            buildargs=build_arguments(settings, name, source),
            rm=True,
            forcerm=True,
            decode=True,
        )
        return follow(events, both)


def build_arguments(settings: ImageSettings, name: str, source: ImageSource) -> dict[str, str]:
    base = source.pinned_base()
    return ({"BASE_IMAGE": base} if base else {}) | settings.arguments(name)


def _base(settings: ImageSettings, name: str, source: ImageSource) -> str:
    """The base in the words of a label: with its digest, or not pinned."""
    base = (
        build_arguments(settings, name, source).get("BASE_IMAGE")
        or source.base_image()
        or "unknown"
    )
    return base if "@sha256:" in base else f"base not pinned: {base}"


def _hint(settings: ImageSettings, name: str, source: ImageSource, log: Path) -> str:
    base = build_arguments(settings, name, source).get("BASE_IMAGE") or source.base_image()
    upon = f"it builds upon {base}, {base_variable(name)} names another base; " if base else ""
    return f"{upon}its log is {log}"


def image_labels(settings: ImageSettings, name: str, source: ImageSource) -> dict[str, str]:
    labels = {
        "org.opencontainers.image.title": f"accelmatrix-{name}",
        "org.opencontainers.image.licenses": "Apache-2.0",
        VERSION_LABEL: settings.version,
        BACKEND_LABEL: name,
        SOURCE_LABEL: source.fingerprint(),
        BASE_LABEL: _base(settings, name, source),
        HASHES_LABEL: source.hashes(),
    }
    if settings.revision:
        labels[REVISION_LABEL] = settings.revision
    return labels


@contextmanager
def _teed(path: Path, report: ReportLine) -> Iterator[ReportLine]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        explanation = reason("build_log_refused", path=path, error=error.strerror or error)
        raise ImageError(explanation, hint=file_hint(error)) from error
    with file:

        def both(line: str) -> None:
            file.write(f"{line}\n")
            report(line)

        yield both


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def check_disk(client: DockerClient, name: str, free: FreeBytes = free_bytes) -> None:
    """Refuse early if the image does not fit. A remote engine's disk cannot be seen."""
    with engine_errors("free disk cannot be asked for"):
        root = Path(client.info()["DockerRootDir"])
    if client.api.base_url not in LOCAL_URLS or not root.exists():
        return
    needed, available = _needed_bytes(name), free(root)
    if available < needed:
        raise ImageError(
            reason(
                "disk_full",
                image=name,
                needed=format_size(needed),
                folder=root,
                free=format_size(available),
            )
        )


def _needed_bytes(name: str) -> int:
    return max(CATALOGUE[backend].image_build_bytes for backend in image_names()[name])
