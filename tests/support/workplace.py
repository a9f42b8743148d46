"""A user's folder: a matrix of the fake backend, results, a scratch database, a command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from orchestrator.system.git import own_commit
from runner.contract.cell import Cell
from runner.contract.job import Job
from tests.support.command_line import call

CLI = (sys.executable, "-m", "orchestrator")
BATCH_SIZES = (1, 2, 4)
PATIENCE_S = 60.0

BY_CONTAINERS = pytest.mark.parametrize(
    "workplace",
    [
        pytest.param("docker", marks=pytest.mark.engine),
        pytest.param("process", marks=pytest.mark.nightly),
    ],
    indirect=True,
)
"""Containers alone; `python -m performance faults launchers` tries processes as well."""
BY_PROCESSES = pytest.mark.parametrize(
    "workplace",
    ["process", pytest.param("docker", marks=(pytest.mark.engine, pytest.mark.nightly))],
    indirect=True,
)
"""Processes alone; `make test-nightly` tries containers as well."""


def heed_signals() -> None:
    """Restore what a shell's background jobs, and `nohup`, ignore and would bequeath."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@dataclass
class Workplace:
    """Calls the real command line the way a user does."""

    folder: Path
    launcher: str
    environment: dict[str, str] = field(default_factory=dict)

    def write_matrix(
        self,
        faults: Mapping[str, str] | None = None,
        models: int = 1,
        latency_s: float = 0.001,
        batch_sizes: Sequence[int] = BATCH_SIZES,
        rounds: int = 1,
        **limits: Any,
    ) -> None:
        """A matrix of scripted models, each with these batch sizes."""
        names = [f"scripted-{number}" for number in range(models)]
        entries = [
            {
                "name": name,
                "family": "embedding",
                "size": "tiny",
                "modality": "text",
                "config": {"faults": dict(faults or {}), "latency_s": latency_s},
            }
            for name in names
        ]
        matrix = {
            "version": 1,
            "axes": {
                "model": ["models.yaml"],
                "backend": "fake",
                "batch_size": list(batch_sizes),
                "sequence_length": 8,
            },
            "measure": {
                "iterations": 3 * rounds,
                "min_duration": "0s",
                "max_duration": "5s",
                "warmup_max_duration": "50ms",
                "rounds": rounds,
                "max_rounds": rounds,
            },
            "limits": {"cell_timeout": "30s", "memory": "400MiB", **limits},
        }
        (self.folder / "models.yaml").write_text(yaml.safe_dump(entries))
        (self.folder / "matrix.yaml").write_text(yaml.safe_dump(matrix))

    def write_database(self) -> None:
        """Write a scratch database without rows, since a process takes long to create one."""
        Store.open(self.folder / "results/benchmarks.duckdb", scratch=True).close()

    def start(self, *arguments: str, program: Sequence[str] = CLI) -> subprocess.Popen[str]:
        """Start a command in this folder, in a process group of its own."""
        return subprocess.Popen(
            [*program, *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=heed_signals,  # noqa: PLW1509
        )

    def do(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call a command in this folder, fast, within this process.

        It asks for the commit anew, as the commands of other processes do: somebody may edit the
        checkout while tests run.
        """
        own_commit.cache_clear()
        return call(*arguments, folder=self.folder, environment=self.environment)

    def show(self, width: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same on a terminal that is so wide."""
        return call(*arguments, folder=self.folder, environment=self.environment, width=width)

    def execute(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in this folder to its end, as a process of its own."""
        process = self.start(*arguments)
        stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def run_arguments(self, *options: str) -> list[str]:
        """The arguments of a run of the matrix with this workplace's launcher, in one order."""
        arguments = ["run", "matrix.yaml", "--scratch", "--launcher", self.launcher]
        return [*arguments, *([] if "--seed" in options else ["--seed", "0"]), *options]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.do(*self.run_arguments(*options))

    def resume(self) -> subprocess.CompletedProcess[str]:
        return self.do("run", "--resume", "last", "--scratch")

    def is_hanging(self, model: str) -> bool:
        """True if the job of this model was launched long enough ago to hang by now."""
        files = list(self.folder.glob(f"results/*/jobs/*{model}*.json"))
        return bool(files) and time.time() - files[0].stat().st_mtime > 2

    def is_visiting(self, cell_id: str) -> bool:
        """True if a container of the newest run said that it is at this cell."""
        containers = self.containers() if self.has_begun else []
        logs = [("docker", "logs", container) for container in containers]
        return any(
            cell_id.encode() in subprocess.run(log, check=False, capture_output=True).stdout
            for log in logs
        )

    def heal(self) -> None:
        """Let the newest run's models no longer hang, as if their bug were fixed."""
        run_file = self.run_folder / "run.json"
        run_file.write_text(run_file.read_text().replace('"hang"', '"print"'))

    @property
    def has_begun(self) -> bool:
        """True if there is a run."""
        return bool(self._runs())

    @property
    def run_folder(self) -> Path:
        return max(self._runs())

    def _runs(self) -> list[Path]:
        return [path.parent for path in self.folder.glob("results/[!.]*/run.json")]

    def planned(self) -> list[str]:
        """The ids of all cells of the newest run."""
        entries = json.loads((self.run_folder / "run.json").read_text())["plan"]["entries"]
        return sorted(Cell.model_validate(entry["cell"]).id for entry in entries)

    def verdicts(self) -> dict[str, str]:
        """Status by cell id, as the database has it for the newest run."""
        with Store.open_readonly(self.folder / "results/benchmarks.duckdb") as store:
            return dict(store.verdicts(self.run_folder.name))

    def verdicts_by_batch(self) -> dict[int, str]:
        """Status by batch size, for a matrix of one model."""
        return {
            int(name.split("-b")[1].split("-")[0]): status
            for name, status in self.verdicts().items()
        }

    def launches(self) -> list[Job]:
        """The jobs of the newest run, in the order in which they were launched."""
        files = self.run_folder.glob("jobs/*.json")
        ordered = sorted(files, key=lambda path: path.stat().st_mtime_ns)
        return [Job.model_validate_json(path.read_bytes()) for path in ordered]

    def round_files(self) -> list[Path]:
        """Results of the newest run's rounds before the last."""
        return sorted(self.run_folder.glob("records/*/*.round*.json"))

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """Query the database in the results folder."""
        return query(self.folder / "results/benchmarks.duckdb", sql).to_pylist()

    def records(self) -> list[Path]:
        return sorted(self.run_folder.glob("records/*/*.parquet"))

    def has_one_verdict_each(self) -> bool:
        """True if every planned cell has exactly one verdict, in the database and on disk."""
        on_disk = sorted(path.stem for path in self.records())
        return sorted(self.verdicts()) == on_disk == self.planned()

    def check(self, *statuses: str) -> None:
        """Assert that each planned cell has one verdict, of these, and nothing is unfinished."""
        assert self.has_one_verdict_each()
        assert self.unfinished() == []
        assert not statuses or set(self.verdicts().values()) == set(statuses)

    def unfinished(self) -> list[str]:
        """Half-written files of the newest run, and its containers."""
        unfinished = [str(path) for path in self.run_folder.rglob("*.tmp")]
        return unfinished + (self.containers() if self.launcher == "docker" else [])

    def containers(self) -> list[str]:
        """Ids of the newest run's containers."""
        mine = f"label=org.accelmatrix.run_id={self.run_folder.name}"
        command = ["docker", "ps", "--all", "--quiet", "--filter", mine]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def wait_until(condition: Callable[[], bool], event: str) -> None:
    """Wait for something to become true; fail after a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{event} did not happen within {PATIENCE_S:g} s"
        time.sleep(0.02)
