"""Samples of the origin project's JSON files, one for each format and cut down."""

import json
from typing import Any

from tests.support.data import LEGACY_SAMPLES

_SECOND = "legacy-checks-with-metadata"

FILES: dict[str, Any] = {path.stem: json.loads(path.read_text("utf-8")) for path in LEGACY_SAMPLES}
"""By the name of the file."""
ALL: dict[str, Any] = {name: value for name, value in FILES.items() if name != _SECOND}
"""By the name of the format."""
COLLECTION: dict[str, Any] = FILES[_SECOND]
"""Another sample of `legacy-checks`."""
DIRECT = ALL["legacy-direct"]
MODELS = ALL["legacy-models"]
