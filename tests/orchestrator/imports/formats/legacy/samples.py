"""Samples of the origin project's JSON files, one for each format and cut down."""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[4] / "data/legacy-results"
_SECOND = "legacy-checks-with-metadata"

WHEN = "2025-03-06T17:45:26.506441"
ALL: dict[str, Any] = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted(_FOLDER.glob("*.json"))
    if path.stem != _SECOND
}
"""By the name of the format."""
COLLECTION: dict[str, Any] = json.loads((_FOLDER / f"{_SECOND}.json").read_text("utf-8"))
"""Another sample of `legacy-checks`."""

DIRECT = ALL["legacy-direct"]
BATCH = ALL["legacy-batch"]
PROGRESS = ALL["legacy-progress"]
BY_BATCH_SIZE = ALL["legacy-by-batch-size"]
BROWSER = ALL["legacy-browser"]
BROWSERS = ALL["legacy-browsers"]
ROWS = ALL["legacy-rows"]
SWEEP = ALL["legacy-sweep"]
FUNCTIONALITY = ALL["legacy-functionality"]
SUITE = ALL["legacy-suite"]
COMPATIBILITY = ALL["legacy-compatibility"]
DIGEST = ALL["legacy-summary"]
CHECK = ALL["legacy-check"]
CHECKS = ALL["legacy-checks"]
REPORT = ALL["legacy-check-report"]
PLATFORMS = REPORT["results"]
CONTENT = ALL["legacy-check-content"]
BY_SCRIPT = ALL["legacy-checks-by-script"]
COMPARISON = ALL["legacy-comparison"]
METHODS = ALL["legacy-methods"]
MODELS = ALL["legacy-models"]
SETTINGS = ALL["legacy-settings"]
DATABASE = ALL["legacy-database"]
