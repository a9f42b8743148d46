"""Every command's output on a narrow terminal: no line too wide, no word broken."""

import shlex
from collections.abc import Iterator

import pytest

from orchestrator.store.store import Store
from tests.support.terminal import require_fit, shown
from tests.support.workplace import Workplace

LONG_NAME = "a-fine-tuned-model-whose-name-is-as-long-as-those-on-the-hub-are-instruct-v1.6"
FAULTS = {"*-b2-*": "raise"}


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    """A folder with one finished run, some of whose ids are wider than 80 columns; it is open."""
    place = Workplace(tmp_path_factory.mktemp("long_names"), "process")
    place.write_matrix(FAULTS, models=2, batch_sizes=(1, 2))
    models = place.folder / "models.yaml"
    models.write_text(models.read_text().replace("scripted-1", LONG_NAME))
    place.environment["DOCKER_HOST"] = f"unix://{place.folder}/no-engine.sock"
    done = place.show(80, *place.run_arguments())
    assert done.returncode == 1, done.stderr
    (place.folder / "run.txt").write_text(done.stdout)
    (place.folder / "progress.txt").write_text(done.stderr)
    with Store.open_readonly(place.folder / "results/benchmarks.duckdb"):
        yield place


COMMANDS = (
    "status last",
    "status last --ids",
    "status",
    "plan matrix.yaml",
    "query latest_results_all",
    "query history",
    "query 'FROM benchmark_results'",
    "models list",
    "models show bert-tiny",
    "explain",
    "replay none",
    "bench --model bert-tny",
    "run matrix.yaml --set axes.precision=fp17",
    "query --format xml x",
)
SLOW_COMMANDS = ("doctor --all", "export --bundle out.zip --force", "images list", "database check")


@pytest.mark.slow
def test_a_run_fits_the_terminal(long_names: Workplace) -> None:
    text = (long_names.folder / "run.txt").read_text()
    require_fit(text, 80, long_names.do("status", "last").stdout)
    progress = shown((long_names.folder / "progress.txt").read_text(), 80)
    assert any(line.startswith("all cells") and line.endswith("4/4 done") for line in progress)
    words = {word for line in progress for word in line.split()}
    assert {"v1.6-fp32-b2-s8-inference:", "failed"} <= words
    assert not any("…" in word for word in words)


@pytest.mark.parametrize(
    "command",
    [*COMMANDS, *(pytest.param(command, marks=pytest.mark.slow) for command in SLOW_COMMANDS)],
)
def test_what_a_command_prints_fits_the_terminal(long_names: Workplace, command: str) -> None:
    arguments = shlex.split(command)
    whole, done = long_names.do(*arguments), long_names.show(80, *arguments)
    assert done.returncode == whole.returncode
    for text in (done.stdout, done.stderr):
        require_fit(text, 80, whole.stdout + whole.stderr)
