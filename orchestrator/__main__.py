"""`python -m orchestrator` is `orchestrator`."""

from orchestrator.cli import main

main()
