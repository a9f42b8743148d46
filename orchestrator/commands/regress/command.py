"""`regress`: a run judged against a baseline, cell by cell, with an exit code for a CI."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.verdict import (
    Baseline,
    Metrics,
    PerHost,
    RequireGrade,
    Threshold,
    required_baseline,
    required_grade,
    threshold_share,
)
from orchestrator.commands.program.completion import complete_side
from orchestrator.commands.program.groups import Command, with_option_group
from orchestrator.commands.program.refusals import refuse_beside
from orchestrator.commands.regress.step_options import (
    JUDGING,
    StepOptions,
    change_steps,
    search_causes,
    with_step_options,
)
from orchestrator.commands.results.filter_options import with_filters
from orchestrator.system.text import split_list

if TYPE_CHECKING:
    from orchestrator.commands.regress.output import RegressionOutput
    from orchestrator.commands.results.selection import SelectionRequest


class VerdictFormat(StrEnum):
    """Formats of verdicts."""

    table = "table"
    markdown = "markdown"
    json = "json"
    junit = "junit"


_Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="The run that is judged, named likewise.  [default: last]",
        show_default=False,
        autocompletion=complete_side,
    ),
]
_Format = Annotated[
    VerdictFormat | None,
    typer.Option(
        "--format",
        metavar=options.one_of(VerdictFormat),
        help="[default: what FILE's name says, else table]",
    ),
]
_Wide = Annotated[
    bool, typer.Option("--wide", help="Leave no column out, and no cell without a change.")
]
_OUTPUT: dict[str, tuple[Any, object]] = {
    "format_": (_Format, None),
    "output": (options.Output, None),
    "chart": (options.ChartFile, None),
    "force": (options.Force, False),
    "wide": (_Wide, False),
    "json": (options.Json, False),
}


def _with_output(command: Command) -> Command:
    """Give a command options of its output, which it takes as its parameter `output`."""
    return with_option_group(command, "output", _OUTPUT, _output)


def _output(chosen: dict[str, Any]) -> "RegressionOutput":
    from orchestrator.commands.regress.output import RegressionOutput

    form = options.answer_format(chosen["format_"], as_json=chosen["json"])
    path: Path | None = chosen["output"]
    return RegressionOutput(form, path, chosen["chart"], force=chosen["force"], wide=chosen["wide"])


@with_filters
@_with_output
@with_step_options
def regress(
    context: typer.Context,
    selected: "SelectionRequest",
    output: "RegressionOutput",
    steps: StepOptions,
    judged: _Run = None,
    baseline: Baseline = None,
    metric: Metrics = None,
    threshold: Threshold = "5%",
    per_host: PerHost = False,
    require_grade: RequireGrade = None,
) -> int:
    """Judge a run against a baseline, with an exit code for a CI."""
    if steps.option is not None:
        refuse_beside(context, steps.option, JUDGING)
        change_steps(selected, steps, as_json=output.form is not None)
        return 0
    from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions

    share = threshold_share(threshold, "--threshold")
    output.require(selected.database)
    request = RegressionRequest(
        selected=replace(selected, run=None),
        baseline=required_baseline(baseline, "regress"),
        run=_judged_run(judged, selected.run),
        metrics=tuple(dict.fromkeys(split_list(metric or ()))),
        threshold=share,
        per_host=per_host,
        require_grade=required_grade(require_grade),
    )
    if steps.bisect:
        return search_causes(request, output, go=steps.go)
    answer = judge_regressions(request)
    output.draw(answer)
    output.show(answer)
    return answer.exit_code


def _judged_run(argument: str | None, option: str | None) -> str:
    from runner.contract.errors import UsageError

    if argument is not None and option is not None:
        raise UsageError(
            f"--run {option}: `regress … {argument}` names a run already",
            hint="leave one of them out",
        )
    return argument or option or "last"
