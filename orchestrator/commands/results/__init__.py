"""Use cases on results: query, export, merge, status, validation, maintenance, snapshots."""
