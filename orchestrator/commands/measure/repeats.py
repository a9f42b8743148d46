"""The note before a run that measures again what was measured already."""

from datetime import UTC, datetime
from pathlib import Path

from orchestrator.planning.plan import Plan
from orchestrator.store.store import Store
from orchestrator.system.text import format_age, plural
from runner.contract.errors import StoreError
from runner.contract.record.ids import model_id


def describe_repeat(plan: Plan, launcher: str, database: Path, host: str | None) -> str | None:
    """The newest run on this host that measured cells of this plan, in words; None without one.

    A database that cannot be read now is no obstacle: whoever needs it says so.
    """
    models = {name: model_id(spec.model_dump_json()) for name, spec in plan.models.items()}
    cells = [entry.cell for entry in plan.with_decision("run")]
    if host is None or not database.exists():
        return None
    try:
        with Store.open_readonly(database, wait_s=0) as store:
            wanted = {
                cell.id: (models[cell.model], plan.measure[cell.backend].profile) for cell in cells
            }
            before = store.measured_before(wanted, host, launcher)
    except StoreError:
        return None
    if before is None:
        return None
    age = format_age((datetime.now(UTC) - before.measured_at).total_seconds())
    count = f"{before.cells} of {len(cells)} {plural(len(cells), 'cell')} "
    all_of_them = before.cells == len(cells)
    return (
        f"{'' if all_of_them else count}measured {age} in run {before.run_id};"
        f" `orchestrator run --resume {before.run_id}` fills its gaps, this measures all again"
    )
