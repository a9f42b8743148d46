"""Files under tests/data: results of other benchmarks, what they become, our own tables."""

import json
import os
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("ACCELMATRIX_TEST_DATA") or Path(__file__).parents[1] / "data")
LEGACY_FILES = sorted((DATA / "legacy-results").rglob("*.json"))
_OWN = Path(__file__).parents[1] / "data"
EXPECTED = _OWN / "expected"
LEGACY_SAMPLES = sorted((_OWN / "legacy-results").glob("*.json"))
SAMPLES = _OWN / "samples"
STORE_DATA = _OWN / "store"
TIMM_FILES = sorted((DATA / "timm").glob("*.csv"))


def sample(name: str) -> dict[str, Any]:
    """The values of a sample that tests change and build upon."""
    return dict(json.loads((SAMPLES / f"{name}.json").read_text("utf-8")))
