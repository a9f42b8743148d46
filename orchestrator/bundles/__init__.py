"""Bundles: runs in one archive, which others can check and merge."""

from orchestrator.bundles.check import INSTALL, Bundle, is_bundle, merge_bundle, opened
from orchestrator.bundles.manifest import Manifest
from orchestrator.bundles.write import Written, write_bundle

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
