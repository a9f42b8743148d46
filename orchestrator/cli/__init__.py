"""The command line: each command parses, calls one function, renders."""

from orchestrator.cli.boundary import main

__all__ = ["main"]
