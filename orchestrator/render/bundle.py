"""Bundles that were written, and what is wrong with one."""

import json
from pathlib import Path

from orchestrator.bundle import INSTALL, Bundle, Manifest, Written
from orchestrator.render.tables import print_line
from orchestrator.units import format_size, plural
from runner.record import SCHEMA_VERSION


def print_written(written: Written, *, as_json: bool) -> None:
    """What is in it, and by which hash it is known."""
    if as_json:
        data = {
            "bundle": str(written.path),
            "bytes": written.bytes,
            "sha256": written.sha256,
            "manifest": written.manifest.model_dump(mode="json"),
        }
        print_line(json.dumps(data, indent=2))
        return
    print_line(f"{written.path}: {_counted(written.manifest)}, {format_size(written.bytes)}")
    print_line(f"sha256: {written.sha256}")


def print_checked(bundle: Bundle, *, as_json: bool) -> None:
    """Every fault, or that there is none."""
    if as_json:
        manifest = bundle.manifest.model_dump(mode="json") if bundle.manifest else None
        data = {
            "bundle": str(bundle.path),
            "bytes": bundle.bytes,
            "sha256": bundle.sha256,
            "sound": not bundle.faults,
            "faults": list(bundle.faults),
            "manifest": manifest,
        }
        print_line(json.dumps(data, indent=2))
        return
    for fault in bundle.faults:
        print_line(f"{bundle.path}: {fault}")
    if bundle.newer:
        print_line(INSTALL)
    if bundle.manifest is not None:
        _print_sound(bundle.path, bundle.manifest)
    print_line(f"sha256: {bundle.sha256}")


def _print_sound(path: Path, manifest: Manifest) -> None:
    writer = f"written by AccelMatrix {manifest.accelmatrix}"
    print_line(f"{path}: sound: {_counted(manifest)}, {writer}")
    if manifest.scratch:
        print_line("it comes from a scratch database: not every row need be measured")
    if manifest.record_version > SCHEMA_VERSION:
        print_line(
            f"its records are of version {manifest.record_version}, and this AccelMatrix knows up"
            f" to {SCHEMA_VERSION}: `merge` keeps columns that it does not know in `other`"
        )


def _counted(manifest: Manifest) -> str:
    counts = manifest.counts
    told = (("record", counts.records), ("run", counts.runs), ("host", counts.hosts))
    records, runs, hosts = (f"{n:,} {plural(n, word)}" for word, n in told)
    return f"{records} of {runs} on {hosts}"
