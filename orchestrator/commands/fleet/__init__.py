"""Use cases of a fleet: its hosts, and runs on them."""
