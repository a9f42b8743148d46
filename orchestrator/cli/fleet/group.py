"""`fleet`: the hosts that measure one matrix together."""

from orchestrator.cli.fleet.execute import execute
from orchestrator.cli.program import CommandGroup, Program

group = Program(help="Use many machines for one matrix.", cls=CommandGroup)
group.command(name="execute")(execute)


@group.callback()
def fleet() -> None:
    """Use many machines for one matrix."""
