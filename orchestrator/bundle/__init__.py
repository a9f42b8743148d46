"""Bundles: runs in one archive, which others can check and merge."""

from orchestrator.bundle.check import INSTALL, Bundle, is_bundle, opened
from orchestrator.bundle.manifest import Manifest
from orchestrator.bundle.merge import merge_bundle
from orchestrator.bundle.write import Written, write_bundle

__all__ = [
    "INSTALL",
    "Bundle",
    "Manifest",
    "Written",
    "is_bundle",
    "merge_bundle",
    "opened",
    "write_bundle",
]
