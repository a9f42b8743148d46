"""Own rows of the acceptance evaluation, on a small bundle whose results follow a law."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.commands.exchange.export import export_bundle
from performance.prediction import own_rows
from performance.prediction.bars import SplitRow
from performance.prediction.printing import print_row
from runner.contract.models import find
from tests.support.databases import write_records
from tests.support.records import a_record

MODELS = {"bert-micro": 1.0, "opt-micro": 1.1}
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)


def bundle(folder: Path, seconds: Callable[[int], float]) -> Path:
    """An archive of results that take so many seconds at a batch size."""
    database = write_records(
        folder,
        [
            a_record(
                model=model,
                batch_size=batch,
                latency_median_s=weight * seconds(batch),
                memory_peak_bytes=int(1e8 + 1e6 * batch),
                model_spec=find(model).model_dump_json(),
                peak_flops_per_s=1e11,
                peak_bytes_per_s=1e10,
            )
            for model, weight in MODELS.items()
            for batch in BATCHES
        ],
    )
    output = folder / "own_rows.zip"
    export_bundle(database, [], output, force=False)
    return output


def rows(monkeypatch: pytest.MonkeyPatch, path: Path) -> dict[str, SplitRow]:
    monkeypatch.setattr(own_rows, "BUNDLE", path)
    return {row.name: row for row in own_rows.own_splits()}


@pytest.mark.slow
def test_own_rows_tell_shapes_models_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = rows(monkeypatch, bundle(tmp_path, lambda batch: 1e-3 + 2e-3 * batch))
    assert [*known] == ["own_shape", "own_range", "own_model", "own_memory"]
    shapes = known["own_shape"]
    assert shapes.bar.mape is not None
    assert shapes.bar.mape >= own_rows.SHAPE
    assert shapes.accuracy.questions == len(MODELS) * (len(BATCHES) - 2)
    assert known["own_memory"].bar.mape == own_rows.MEMORY
    assert known["own_model"].accuracy.questions == len(MODELS) * len(BATCHES)
    ends = known["own_range"]
    assert ends.held  # it has no bar
    assert [*ends.parts] == ["cpu/torch"]
    assert all(print_row(row) == row.held for row in known.values())
    printed = capsys.readouterr().out
    assert "own rows: 16 results" in printed
    assert printed.count("90 % intervals") == len(known)


def test_without_the_bundle_own_rows_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(monkeypatch, tmp_path / "none.zip") == {}
    assert "own rows: left out, since none.zip is not there" in capsys.readouterr().out
