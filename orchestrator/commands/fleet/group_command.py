"""`fleet`: one matrix over many machines."""

from orchestrator.commands.fleet.cluster_command import Down, Join, Leave, Up
from orchestrator.commands.fleet.doctor_command import DoctorOfFleet
from orchestrator.commands.fleet.execute_command import ExecuteCommand
from orchestrator.commands.fleet.status_command import StatusOfFleet
from orchestrator.commands.program.program import CommandGroup, Program


class FleetGroup(CommandGroup):
    """A group that shows the hosts if no command is named."""

    alone = "status"


group = Program(help="Measure on many machines: make a fleet, join it, see it.", cls=FleetGroup)
group.command(name="up")(Up)
group.command(name="join")(Join)
group.command(name="leave")(Leave)
group.command(name="down")(Down)
group.command(name="status")(StatusOfFleet)
group.command(name="doctor")(DoctorOfFleet)
group.command(name="execute")(ExecuteCommand)
