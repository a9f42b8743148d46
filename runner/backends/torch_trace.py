"""Traces of one call, made by torch's profiler."""

from pathlib import Path

import torch
from torch.profiler import profile

from runner.backends.base import Query
from runner.backends.torch_device import activities
from runner.whole_files import save_text, save_whole

HEAVIEST = 30
NAME_WIDTH = 60


def trace(action: Query, stem: Path, device: torch.device) -> None:
    """Profile one call; write its trace and a table of the heaviest operators.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with profile(activities=activities(device), record_shapes=True) as profiler:
        action()
    table = profiler.key_averages().table(
        sort_by="self_cpu_time_total" if device.type == "cpu" else "self_device_time_total",
        row_limit=HEAVIEST,
        max_name_column_width=NAME_WIDTH,
    )
    save_whole(
        stem.with_name(f"{stem.name}.trace.json"),
        lambda file: profiler.export_chrome_trace(file.name),
    )
    save_text(stem.with_name(f"{stem.name}.operators.txt"), table)
