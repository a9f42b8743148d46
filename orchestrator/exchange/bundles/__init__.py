"""Bundles: runs in one archive, which others can check and merge."""

from orchestrator.exchange.bundles.check import (
    INSTALL_HINT,
    Bundle,
    has_manifest,
    is_bundle,
    merge_bundle,
    open_bundle,
)
from orchestrator.exchange.bundles.foreign import is_database, open_database
from orchestrator.exchange.bundles.manifest import BundleManifest
from orchestrator.exchange.bundles.write import WrittenBundle, write_bundle

__all__ = [
    "INSTALL_HINT",
    "Bundle",
    "BundleManifest",
    "WrittenBundle",
    "has_manifest",
    "is_bundle",
    "is_database",
    "merge_bundle",
    "open_bundle",
    "open_database",
    "write_bundle",
]
