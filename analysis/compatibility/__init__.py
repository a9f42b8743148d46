"""Compatibility: what works on which backend and how well, and what helps where it does not."""
