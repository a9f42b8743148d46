"""`fleet`: one matrix over many machines."""

from orchestrator.commands.fleet.cluster_command import down, join, leave, up
from orchestrator.commands.fleet.doctor_command import doctor_of_fleet
from orchestrator.commands.fleet.execute_command import execute
from orchestrator.commands.fleet.status_command import status_of_fleet
from orchestrator.commands.program.program import CommandGroup, Program


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
