"""`predict`: what was not measured, from what was."""

from orchestrator.commands.predict.ask_command import AskPredictor
from orchestrator.commands.predict.evaluate_command import EvaluateCommand
from orchestrator.commands.predict.explain_command import ExplainPrediction
from orchestrator.commands.predict.matrix_command import PredictMatrix
from orchestrator.commands.predict.show_command import ShowPredictor
from orchestrator.commands.predict.train_command import TrainCommand
from orchestrator.commands.program.program import CommandGroup, Program


class PredictingGroup(CommandGroup):
    """A group that predicts cells if no command is named."""

    alone = "ask"


group = Program(
    help="Predict what was not measured from what was. `predict --model X` asks.",
    cls=PredictingGroup,
)
group.command(name="ask")(AskPredictor)
group.command(name="train")(TrainCommand)
group.command(name="evaluate")(EvaluateCommand)
group.command(name="show")(ShowPredictor)
group.command(name="matrix")(PredictMatrix)
group.command(name="explain")(ExplainPrediction)
