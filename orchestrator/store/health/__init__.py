"""Keeps a database sound and small: faults, repairs, compaction, copies."""
