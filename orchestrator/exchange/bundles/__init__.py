"""Bundles: runs in one archive, which others can check and merge."""
