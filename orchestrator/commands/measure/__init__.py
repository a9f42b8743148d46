"""Use cases that measure: run, verify, prepare, replay."""
