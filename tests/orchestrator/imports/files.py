"""Files of other benchmarks in a folder of a user."""

import json
from pathlib import Path
from typing import Any

from orchestrator.imports.document import files_in
from orchestrator.imports.formats import FORMATS
from orchestrator.imports.outcome import FileOutcome, read_files

TABLE = """\
model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,param_count
tinynet_e,106,1024,75290.96,13.591,2.04
resnet50,224,256,1010.5,253.3,25.56
"""
LATER = TABLE.replace("1010.5", "2020.5")


def write(path: Path, content: Any) -> Path:
    """A file with this text, or with these data as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def verdicts_on(*paths: Path) -> tuple[FileOutcome, ...]:
    """What becomes of these files, and of all in these folders."""
    return read_files(files_in(paths), FORMATS)
