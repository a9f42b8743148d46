"""This machine's backends and images on a terminal."""

from collections.abc import Sequence

from orchestrator.app.setup.doctor import SUPPORT_CLASSES, Diagnosis
from orchestrator.images import Image, ImageStatus, PrunedImages
from orchestrator.render.lines import print_json, print_line
from orchestrator.render.tables import print_table
from orchestrator.system.text import format_size


def print_diagnoses(diagnoses: Sequence[Diagnosis], *, as_json: bool) -> None:
    """One row for each backend by each launcher, and the meaning of support classes."""
    if as_json:
        print_json([diagnosis.data() for diagnosis in diagnoses])
        return
    rows = [
        (
            row.backend,
            row.launcher,
            "yes" if row.runs else "no",
            row.support_class,
            row.reason,
            row.remedy,
        )
        for row in diagnoses
    ]
    print_table(("backend", "launcher", "runs", "class", "why", "what to do"), rows)
    print_line()
    meanings = " · ".join(f"{number} {meaning}" for number, meaning in SUPPORT_CLASSES.items())
    print_line(f"support class: {meanings} · – not built yet")


def print_images(statuses: Sequence[ImageStatus], *, as_json: bool) -> None:
    """One row for each image, whether the engine holds it or not."""
    if as_json:
        print_json(statuses)
        return
    rows = [
        (
            status.reference,
            ", ".join(status.backends),
            "yes" if status.image else "no",
            ("yes" if status.fresh else "no") if status.image else None,
            status.image.trust if status.image else None,
            format_size(status.image.size_bytes) if status.image else None,
            status.image.digest if status.image else None,
            status.support_class,
        )
        for status in statuses
    ]
    print_table(("image", "backends", "here", "fresh", "trust", "size", "digest", "class"), rows)


def print_image(action: str, image: Image) -> None:
    """The image that was built, pulled or pushed."""
    print_line(f"{action} {image.reference} {image.digest} ({image.trust})")


def print_pruned(pruned: PrunedImages) -> None:
    """The images that were removed, and those that a container uses."""
    for reference in pruned.removed:
        print_line(f"removed {reference}")
    for reference in pruned.in_use:
        print_line(f"kept {reference}: a container uses it")
    if not (pruned.removed or pruned.in_use):
        print_line("there is nothing to remove")
