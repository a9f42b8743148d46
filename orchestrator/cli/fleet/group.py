"""`fleet`: one matrix over many machines."""

from orchestrator.cli.fleet.cluster import down, join, leave, up
from orchestrator.cli.fleet.doctor import doctor_of_fleet
from orchestrator.cli.fleet.execute import execute
from orchestrator.cli.fleet.status import status_of_fleet
from orchestrator.cli.program import CommandGroup, Program


class FleetGroup(CommandGroup):
    """A group that shows the hosts if no command is named."""

    alone = "status"


group = Program(help="Measure on many machines: make a fleet, join it, see it.", cls=FleetGroup)
group.command(name="up")(up)
group.command(name="join")(join)
group.command(name="leave")(leave)
group.command(name="down")(down)
group.command(name="status")(status_of_fleet)
group.command(name="doctor")(doctor_of_fleet)
group.command(name="execute")(execute)
