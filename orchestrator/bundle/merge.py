"""Bundles of other machines come into the database."""

from orchestrator.bundle.check import Bundle
from orchestrator.store import MergeReport, Store


def merge_bundle(bundle: Bundle, store: Store) -> MergeReport:
    """Merge a bundle's records, and what it knows of its runs unless the database knows more.

    Raises:
        StoreError: the bundle is not sound, or the database cannot take it.
    """
    bundle.require_sound()
    known = store.described_runs()
    runs = [
        run
        for run in bundle.runs
        if run.run_id not in known or not known[run.run_id].is_newer_than(run)
    ]
    return store.merge([bundle.records] if bundle.records else [], *runs)
