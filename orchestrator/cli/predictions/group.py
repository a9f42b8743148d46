"""`predict`: what was not measured, from what was."""

from orchestrator.cli.predictions.evaluate import evaluate
from orchestrator.cli.predictions.show import show
from orchestrator.cli.predictions.train import train
from orchestrator.cli.program import CommandGroup, Program

group = Program(
    help="Predict what was not measured from what was.",
    cls=CommandGroup,
)
group.command(name="train")(train)
group.command(name="evaluate")(evaluate)
group.command(name="show")(show)
