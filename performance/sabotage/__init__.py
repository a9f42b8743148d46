"""Broken models against the correctness check."""
