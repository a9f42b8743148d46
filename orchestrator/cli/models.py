"""`models`: the catalogue."""

from typing import Annotated

import typer

from orchestrator.cli import options

app = typer.Typer(help="List and show models.", no_args_is_help=True, rich_markup_mode=None)


@app.command(name="list")
def list_models(
    family: Annotated[str | None, typer.Option(help="Only models of this family.")] = None,
    json: options.Json = False,
) -> None:
    """List the catalogue."""
    import json as json_text
    from typing import get_args

    from orchestrator.errors import MatrixError
    from orchestrator.matrix.problems import one_of
    from orchestrator.render.tables import print_line, print_table
    from runner.models import Family, catalogue, model_sets

    if family is not None and family not in get_args(Family):
        raise MatrixError(f"--family: {one_of(family, get_args(Family))}")
    models = [model for model in catalogue().values() if family in (None, model.family)]
    sets = {
        name: ", ".join(key for key, members in model_sets().items() if name in members)
        for name in catalogue()
    }
    if json:
        data = [model.model_dump(mode="json") | {"sets": sets[model.name]} for model in models]
        print_line(json_text.dumps(data, indent=2))
        return
    rows = [
        (model.name, model.family, model.task, model.parameters, sets[model.name], model.hub_id)
        for model in models
    ]
    print_table(("model", "family", "task", "parameters", "sets", "published as"), rows)


@app.command(name="show")
def show(name: Annotated[str, typer.Argument(metavar="MODEL")], json: options.Json = False) -> None:
    """Show what is known of one model."""
    from orchestrator.render.tables import print_line, print_table
    from runner.models import find

    model = find(name)
    if json:
        print_line(model.model_dump_json(indent=2))
        return
    facts = model.model_dump(mode="json", exclude={"config", "inputs"})
    print_table(("fact", "value"), [(key, str(value)) for key, value in facts.items()])
    print_line()
    rows = [(t.name, t.kind, " × ".join(map(str, t.shape)), t.high) for t in model.inputs]
    print_table(("input", "kind", "shape", "below"), rows)
    print_line()
    print_table(("config", "value"), [(key, str(value)) for key, value in model.config.items()])
