"""Sides of a comparison: the results that a word names, be it a run, a file or a host."""

from orchestrator.commands.results.sides.sides import Sides, open_sides, require_side

__all__ = ["Sides", "open_sides", "require_side"]
