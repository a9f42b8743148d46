"""Bundles of other machines come into the database."""

from orchestrator.bundle.check import Bundle
from orchestrator.store import MergeReport, Store
from orchestrator.store.reading.described import untold


def merge_bundle(bundle: Bundle, store: Store) -> MergeReport:
    """Merge a bundle's records, and what it knows of its runs unless the database knows more.

    Raises:
        StoreError: the bundle is not sound, or the database cannot take it.
    """
    bundle.require_sound()
    runs = untold(bundle.runs, store.described_runs())
    return store.merge([bundle.records] if bundle.records else [], *runs)
