"""`python -m orchestrator` is `orchestrator`."""

from orchestrator.commands import main

main()
