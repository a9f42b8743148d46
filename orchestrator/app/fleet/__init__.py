"""Use cases of a fleet."""
