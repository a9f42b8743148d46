"""Settings that imports tell: results that differ in one are compared by nothing but it."""

from pathlib import Path

import pytest

from analysis.compare.compare import compare_selected
from analysis.compatibility.verdicts import read_evidence
from analysis.predict.examples.example_rows import example_rows
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.trend.trends import trends_of
from orchestrator.commands.compare.answer import compare_run_pair
from orchestrator.commands.exchange.import_command import ImportCommand, import_results
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo

HEAD = (
    "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,infer_gmacs,"
    "infer_macts,param_count\n"
)
RATES = {("nchw", "rtx3090"): 1000.0, ("nhwc", "rtx3090"): 1120.0, ("nchw", "rtx4090"): 1320.0}
IMPORTED = Selection(imported=True)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settings")
    for (layout, device), rate in RATES.items():
        path = folder / f"benchmark-infer-amp-{layout}-pt240-cu124-{device}.csv"
        path.write_text(f"{HEAD}resnet50,{rate},{256e3 / rate},256,224,4.1,11.1,25.6\n")
    database = folder / "benchmarks.duckdb"
    import_results(ImportCommand(paths=[folder], results=folder, database=database))
    return database


def test_devices_compare_within_one_layout(database: Path) -> None:
    with Store.open_readonly(database) as store:
        comparison = compare_selected(
            *(store, IMPORTED, "hardware", METRICS["throughput"]), across_hosts=True
        )
    (group,) = comparison.groups
    assert group.shared["settings"] == "layout nchw"
    assert [(row.name, row.speedup) for row in group.rows] == [
        ("rtx3090", 1.0),
        ("rtx4090", pytest.approx(1.32)),
    ]


def test_runs_levels_series_and_predictions_keep_layouts_apart(database: Path) -> None:
    with Store.open_readonly(database) as store:
        runs = store.arrow("SELECT DISTINCT settings, hardware, run_id FROM imported_results")
        by_name = {(row["settings"], row["hardware"]): row["run_id"] for row in runs.to_pylist()}
        (evidence,) = read_evidence(store, IMPORTED)
        trends = trends_of(store, IMPORTED, METRICS["throughput"])
        rows = example_rows(store, imported=True)
    assert len({one.cell for one in evidence.rates}) == len(RATES)
    assert trends.series == ()
    assert {(one.device.name, one.software) for one in rows.placements} == {
        (device, f"2.4 layout {layout}") for layout, device in RATES
    }
    of_both = (by_name[f"layout {layout}", "rtx3090"] for layout in ("nchw", "nhwc"))
    with pytest.raises(NothingToDo, match="1 of other settings: layout nchw, now layout nhwc"):
        compare_run_pair(SelectionRequest(database, imported=True), *of_both, metric="throughput")
