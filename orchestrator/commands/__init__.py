"""The command line: each command parses, calls one function, renders."""

from orchestrator.commands.main import main

__all__ = ["main"]
