import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.doomed import Doomed
from orchestrator.maintain import CompactRun, Left, Maintained
from orchestrator.render.maintain import print_maintained
from orchestrator.store.health.compaction import Compaction
from orchestrator.store.health.tidy import Tidied

WHEN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DONE = Maintained(
    doomed=(
        Doomed("run-1", WHEN, 12, Path("results/run-1"), 2048),
        Doomed("run-0", WHEN, 3, None, 0),
    ),
    compact=(CompactRun("run-2", Compaction(1000, 80_000_000, 2_000_000)),),
    left=(Left("run-3", "1 of 3 cells have no sound record yet"),),
    tidied=Tidied(8 << 20, 3 << 20, rewritten=True),
)


def test_it_tells_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    print_maintained(DONE, dropped=True, as_json=False)
    assert capsys.readouterr().out == (
        "run    started           verdicts  on disk\n"
        "run-1  2026-11-21 12:00        12  2KiB\n"
        "run-0  2026-11-21 12:00         3  –\n"
        "\n"
        "2 runs dropped\n"
        "run-2: 1000 record files of 76.3MiB are now 1.9MiB\n"
        "run-3: left alone: 1 of 3 cells have no sound record yet\n"
        "database: 8MiB before, now 3MiB, written anew\n"
    )


def test_it_tells_what_would_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    foreseen = Maintained(
        DONE.doomed[:1], (CompactRun("run-2", Compaction(3, 4096, None)),), (), None
    )
    print_maintained(foreseen, dropped=False, as_json=False)
    assert capsys.readouterr().out.endswith(
        "1 run to drop; `--yes` does it\n"
        "run-2: 3 record files of 4KiB would become one\n"
        "nothing was changed: a dry run\n"
    )


def test_as_data_it_is_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    print_maintained(DONE, dropped=True, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["dropped"]
    assert [run["run_id"] for run in told["doomed"]] == ["run-1", "run-0"]
    assert told["compact"][0]["compaction"]["files"] == 1000
    assert told["left"] == [{"run_id": "run-3", "reason": "1 of 3 cells have no sound record yet"}]
    assert told["tidied"]["rewritten"]
