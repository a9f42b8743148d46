"""Use cases on results: merge, status, maintenance."""
