"""`python -m orchestrator` is `orchestrator`."""

from orchestrator.commands.main import main

main()
