"""Result files of other benchmarks that tests import."""

import os
from pathlib import Path

DATA = Path(os.environ.get("ACCELMATRIX_TEST_DATA") or Path(__file__).parents[1] / "data")
LEGACY_FILES = sorted((DATA / "legacy-results").rglob("*.json"))
TIMM_FILES = sorted((DATA / "timm").glob("*.csv"))
