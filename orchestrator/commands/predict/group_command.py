"""`predict`: what was not measured, from what was."""

from orchestrator.commands.predict.ask_command import ask_predictor
from orchestrator.commands.predict.evaluate_command import evaluate
from orchestrator.commands.predict.explain_command import explain_prediction
from orchestrator.commands.predict.matrix_command import matrix_command
from orchestrator.commands.predict.show_command import show_predictor
from orchestrator.commands.predict.train_command import train_command
from orchestrator.commands.program.program import CommandGroup, Program


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
