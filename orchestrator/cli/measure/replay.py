"""`replay`: measures one result again."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.measure.measure import execute
from orchestrator.cli.options import command_line, database_in, note
from orchestrator.system.files import RESULTS_FOLDER


def replay(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_ID", help="<run_id>/<cell_id>; last/<cell_id> is of the newest run."
        ),
    ],
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> int:
    """Measure one result again, in the same image, and show both side by side."""
    from orchestrator.app.measure.replay import Replay, begin_replay, find_original
    from orchestrator.backends.machine import this_machine
    from orchestrator.launchers.registry import make_launcher
    from orchestrator.render.replay import print_replay
    from orchestrator.running.execution import Settings
    from orchestrator.store import Store

    path = database_in(results, database)
    original = find_original(result, path)
    launcher = make_launcher(original.launcher, note, original.pinned)
    launcher.prepare(original.cell.backend)
    folder = begin_replay(original, results, database, command_line())
    settings = Settings(database=path, memory_bytes=this_machine().memory_bytes)
    outcome = execute(folder, lambda _: launcher, settings)
    with Store.open_readonly(path) as store:
        now = store.measurement(f"{folder.run.run_id}/{original.cell.id}")
    if now is not None:
        print_replay(Replay(original.measured, now), as_json=json)
    outcome.merged.require_complete()
    return outcome.exit_code
