"""What a hostile image does with its job, once it has measured it honestly or instead of that.

The same functions run in a test's own process, behind a scripted launcher, and in a container whose
entry point is this file. They need nothing but the runner. A job's model says in its configuration
which attack is meant, and which folder of the host it would like to reach.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.files import record_of, rows, to_table, write_records
from runner.contract.record.record import Record
from runner.job.harness import Harness
from runner.process import Progress

FLOOD_BYTES = 32 << 20
MANY_FILES = 3_000
DEPTH = 400
VALUES = 20_000_000


def read_record(path: Path) -> Record:
    """The only row of a file; images hold the runner alone."""
    (row,) = rows(pq.read_table(path))
    return record_of(row)


@dataclass(frozen=True)
class Scene:
    """A launch as the attacker sees it."""

    job: Job
    out: Path
    say: Callable[[str], None]
    """Prints a line on stdout."""

    @property
    def victim(self) -> Cell:
        """The cell that the attack is about: the job's first one."""
        return self.job.cells[0]

    @property
    def host(self) -> Path:
        """A folder of the host: `secret.txt`, and another run's `record.parquet`."""
        return Path(self.job.model.config["host"])

    @property
    def record_file(self) -> Path:
        """The record of the first cell."""
        return self.out / f"{self.victim.id}.parquet"

    def record(self, **changes: Any) -> Record:
        """The honest record with other values."""
        return read_record(self.record_file).model_copy(update=changes)

    def event(self, kind: str, cell_id: object, **more: object) -> None:
        """Print one progress event."""
        self.say(json.dumps({"event": kind, "cell_id": cell_id, **more}))


Attack = Callable[[Scene], int | None]
"""Returns the exit status; None is 0."""


def _write(path: Path, records: Sequence[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_records(to_table(list(records)), file)


def _replace(scene: Scene, **changes: Any) -> None:
    record = scene.record(**changes)
    scene.record_file.unlink()
    _write(scene.record_file, [record])


def _instead_of_the_record(scene: Scene) -> Path:
    scene.record_file.unlink()
    return scene.record_file


# Records of other results


def other_run_beside(scene: Scene) -> None:
    """A record that replaces another run's result, in a file of its own."""
    forged = scene.record(run_id="victim", recorded_at=datetime.now(UTC) + timedelta(hours=1))
    _write(scene.out / "stray.parquet", [forged])


def other_run_nested(scene: Scene) -> None:
    """The same, in a folder below."""
    forged = scene.record(run_id="victim", recorded_at=datetime.now(UTC) + timedelta(hours=1))
    _write(scene.out / "a" / "b" / f"{scene.victim.id}.parquet", [forged])


def invented_run(scene: Scene) -> None:
    """A record of a run that never was."""
    _write(scene.out / "invented.parquet", [scene.record(run_id="20200101-000000-never")])


def other_run_under_a_planned_name(scene: Scene) -> None:
    """Another run's record where the planned cell's is expected."""
    _replace(scene, run_id="victim")


def other_cell_under_a_planned_name(scene: Scene) -> None:
    """The second cell's record under the first one's name as well."""
    record = read_record(scene.out / f"{scene.job.cells[1].id}.parquet")
    _write(_instead_of_the_record(scene), [record])


def another_row_behind_the_record(scene: Scene) -> None:
    """A file of two rows, of which the second is another run's."""
    honest = scene.record()
    forged = honest.model_copy(update={"run_id": "victim"})
    _write(_instead_of_the_record(scene), [honest, forged])


def compact_file(scene: Scene) -> None:
    """A file named like those that hold the records of a finished run."""
    forged = scene.record(run_id="victim", recorded_at=datetime.now(UTC) + timedelta(hours=1))
    _write(scene.out / "compact-01234567.parquet", [forged])


def path_as_job(scene: Scene) -> None:
    """A verdict that is to be retried, whose job is a folder of the host."""
    _replace(scene, status="lost", job_id=str(scene.host), cell_id="record")


# Claims about what the host knows


def other_image(scene: Scene) -> None:
    """A record that names another image."""
    _replace(scene, image="accelmatrix-cpu:1", image_digest="sha256:" + "0" * 64)


def other_host(scene: Scene) -> None:
    """A record that names another host, commit and orchestrator."""
    _replace(scene, hostname="fast", git_commit="0" * 40, orchestrator_version="9")


def other_model(scene: Scene) -> None:
    """A record that keeps the id of its model and describes another one."""
    spec = json.loads(str(scene.record().model_spec))
    spec["config"]["latency_s"] = 1e-9
    _replace(scene, model_spec=json.dumps(spec))


def other_machine_of_the_same_id(scene: Scene) -> None:
    """A record that describes the machine's id, which others share, as another machine."""
    _replace(scene, cpu_model="Quantum 9000", memory_total_bytes=1 << 50)


def other_environment_of_the_same_id(scene: Scene) -> None:
    """A record that describes the environment's id as another one."""
    _replace(scene, kernel="9.9.9", python_version="4.0")


def replay_of_something_else(scene: Scene) -> None:
    """A record whose job, which a replay would run, is another one."""
    job = json.loads(str(scene.record().job))
    job["provenance"]["launcher"] = "process"
    job["limits"]["memory_bytes"] = 1 << 50
    _replace(scene, job=json.dumps(job), launcher="process")


def of_another_source(scene: Scene) -> None:
    """A record that calls itself imported, of which less is asked."""
    table = to_table([scene.record()]).append_column("source", pa.array(["elsewhere"]))
    with _instead_of_the_record(scene).open("wb") as file:
        write_records(table, file)


# Numbers that no device makes


def not_a_number(scene: Scene) -> None:
    """A median that is none."""
    _replace(scene, latency_median_s=float("nan"))


def infinite(scene: Scene) -> None:
    """An infinite throughput."""
    _replace(scene, throughput=float("inf"))


def negative(scene: Scene) -> None:
    """A negative median."""
    _replace(scene, latency_median_s=-1.0)


def refuted_by_its_durations(scene: Scene) -> None:
    """A median a million times smaller than each duration."""
    _replace(scene, latency_median_s=1e-9)


def from_the_future(scene: Scene) -> None:
    """A record that no later one can outweigh."""
    _replace(scene, recorded_at=datetime(9998, 1, 1, tzinfo=UTC))


def many_values(scene: Scene) -> None:
    """A small file that needs a gigabyte of memory."""
    values = pa.chunked_array([pa.array([1] * (VALUES // 100), pa.int64())] * 100)
    offsets = pa.array([0, VALUES], pa.int32())
    column = pa.ListArray.from_arrays(offsets, values.combine_chunks())
    table = to_table([scene.record()])
    at = table.column_names.index("durations_ns")
    table = table.set_column(at, table.schema.field(at), column)
    pq.write_table(table, _instead_of_the_record(scene), compression="zstd")


# Things that are no files


def fifo(scene: Scene) -> None:
    """A FIFO, on which a reader waits for ever."""
    os.mkfifo(_instead_of_the_record(scene))


def fifo_as_part(scene: Scene) -> None:
    """The same in the place of a round's result and of the reason for a missing trace."""
    os.mkfifo(scene.out / f"{scene.victim.id}.round1.json")
    os.mkfifo(scene.out / f"{scene.victim.id}.trace.failed")


def endless_device(scene: Scene) -> None:
    """A link to a device that never ends."""
    _instead_of_the_record(scene).symlink_to("/dev/zero")


def folder_as_record(scene: Scene) -> None:
    """A folder where the record belongs."""
    _instead_of_the_record(scene).mkdir()


def folder_as_temporary_file(scene: Scene) -> None:
    """A folder where the host itself would write the record first."""
    path = _instead_of_the_record(scene)
    (path.with_name(f".{path.name}.tmp") / "in" / "the" / "way").mkdir(parents=True)


def link_to_a_record_of_the_host(scene: Scene) -> None:
    """A link to a Parquet file that the user has elsewhere."""
    _instead_of_the_record(scene).symlink_to(scene.host / "record.parquet")


def link_to_text_of_the_host(scene: Scene) -> None:
    """Links to a file of the host under each name whose text is shown."""
    for suffix in (".trace.failed", ".log", ".operators.txt", ".trace.json"):
        path = scene.out / f"{scene.victim.id}{suffix}"
        path.unlink(missing_ok=True)
        path.symlink_to(scene.host / "secret.txt")


def link_out_of_the_folder(scene: Scene) -> None:
    """A link to a folder of the host, below which something may be written or removed."""
    (scene.out / "elsewhere").symlink_to(scene.host, target_is_directory=True)


def two_names(scene: Scene) -> None:
    """A record with a second name."""
    (scene.out / "second.parquet").hardlink_to(scene.record_file)


def text_that_is_none(scene: Scene) -> None:
    """Bytes that are not UTF-8, and escape sequences, where text is shown."""
    path = scene.out / f"{scene.victim.id}.trace.failed"
    path.write_bytes(b"\xff\xfe\x1b[2J\x1b]0;owned\x07" * 1000)


def setuid(scene: Scene) -> None:
    """A program that its owner's rights come with."""
    program = scene.out / "root"
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o6755)
    scene.record_file.chmod(0o6777)


def strange_names(scene: Scene) -> None:
    """Names with line ends, escape sequences, bytes of no encoding, and of full length."""
    folder = os.fsencode(scene.out)
    for name in (
        b"a\nb.parquet",
        b"\x1b[2J.parquet",
        b"\xff\xfe.parquet",
        b"x" * 247 + b".parquet",
    ):
        with open(os.path.join(folder, name), "wb"):  # noqa: PTH118, PTH123 - bytes, no Path
            pass


def many_files(scene: Scene) -> None:
    """More files than anybody wants to look at."""
    for number in range(MANY_FILES):
        (scene.out / f"{number}.parquet").touch()


def deep_folders(scene: Scene) -> None:
    """Folders below folders, until no path reaches their end."""
    here = os.open(scene.out, os.O_RDONLY)
    try:
        for _ in range(DEPTH):
            os.mkdir("d" * 20, dir_fd=here)
            below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)


# Words


def nested_line(scene: Scene) -> None:
    """A line that takes all of a parser's stack."""
    scene.say("[" * 200_000)
    scene.say('{"a":' * 200_000)


def wrong_types(scene: Scene) -> None:
    """Events whose values are of other types, and numbers beyond any limit."""
    for value in ([], {}, 1, None, True, "1" * 70_000):
        scene.event("recorded", value)
        scene.say(json.dumps({"event": value, "cell_id": scene.victim.id}))
        scene.event("phase", scene.victim.id, phase=value)
    scene.say('{"event": ' + "9" * 10_000 + ', "cell_id": NaN}')


def endless_line(scene: Scene) -> None:
    """Megabytes without a line end."""
    scene.say("x" * FLOOD_BYTES)


def many_lines(scene: Scene) -> None:
    """Hundreds of thousands of lines that claim the same."""
    for _ in range(200_000):
        scene.event("recorded", scene.victim.id)


def talk_about_others(scene: Scene) -> None:
    """Events of cells that this job does not have, and in an order that cannot be."""
    for cell_id in ("cpu-bert-base-uncased-fp32-b1-s128-inference", "../../x", ""):
        scene.event("recorded", cell_id)
        scene.event("visited", cell_id)
    scene.event("phase", scene.victim.id, phase="steady")
    scene.event("phase", scene.victim.id, phase="load")


def claims_without_records(scene: Scene) -> int:
    """A cell is said to be recorded, and is not; then the job is refused at length."""
    scene.record_file.unlink()
    scene.event("recorded", scene.victim.id)
    sys.stderr.write("\x1b[2J" + "no\n" * 100_000)
    return 2


def disk_is_full(scene: Scene) -> int:
    """The exit status that says the host's disk is full."""
    scene.record_file.unlink()
    return 6


def talks_without_end(scene: Scene) -> None:
    """Events that would move the deadline for ever, with nothing behind them."""
    scene.record_file.unlink()
    while True:
        scene.event("visited", scene.victim.id)
        scene.event("phase", scene.victim.id, phase="first")
        scene.event("phase", None, phase="load")
        time.sleep(0.01)


def sleeps_with_stdout_closed(scene: Scene) -> None:
    """No word, and no end."""
    scene.record_file.unlink()
    os.close(1)
    time.sleep(3600)


def fills_the_disk(scene: Scene) -> None:
    """As many bytes as there is room for."""
    scene.record_file.unlink()
    with (scene.out / "filling").open("wb") as file:
        while True:
            file.write(b"\1" * (1 << 20))
            file.flush()
            time.sleep(0.001)


def main() -> int:
    """Measure the job honestly, then commit the attack that its model names."""
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    job = Job.model_validate_json(Path(options["--job"]).read_bytes())
    out = Path(options["--out"])
    Harness(job, out, Progress(sys.stdout)).run()
    attack: Attack = globals()[job.model.config["attack"]]
    return attack(Scene(job, out, _print)) or 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
