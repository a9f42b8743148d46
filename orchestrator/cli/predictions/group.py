"""`predict`: what was not measured, from what was."""

from orchestrator.cli.predictions.ask import ask_predictor
from orchestrator.cli.predictions.evaluate import evaluate
from orchestrator.cli.predictions.explain import explain_prediction
from orchestrator.cli.predictions.matrix import matrix_command
from orchestrator.cli.predictions.show import show_predictor
from orchestrator.cli.predictions.train import train_command
from orchestrator.cli.program import CommandGroup, Program


class PredictingGroup(CommandGroup):
    """A group that predicts cells if no command is named."""

    alone = "ask"


group = Program(
    help="Predict what was not measured from what was. `predict --model X` asks.",
    cls=PredictingGroup,
)
group.command(name="ask")(ask_predictor)
group.command(name="train")(train_command)
group.command(name="evaluate")(evaluate)
group.command(name="show")(show_predictor)
group.command(name="matrix")(matrix_command)
group.command(name="explain")(explain_prediction)
