"""Use cases: one a module, each returns a frozen value."""
