"""The program: help, refusals of words, what a short command imports, and its end."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.commands.app import COMMANDS, PANELS
from orchestrator.store.store import Store
from runner import __version__
from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


def test_the_version_is_told(place: Workplace) -> None:
    done = place.do("--version")
    assert (done.returncode, done.stdout) == (0, f"orchestrator {__version__}\n")


def test_help_lists_exit_codes_and_every_command_with_a_short_sentence(place: Workplace) -> None:
    done = place.do("--help")
    assert done.returncode == 0
    assert "3 nothing to do" in done.stdout.replace("\n  ", " ")
    listed = {
        heading: done.stdout.partition(f"\n{heading}:\n")[2].partition("\n\n")[0].splitlines()
        for heading in ("Measure", "Results", "Decide", "Set up")
    }
    assert {heading: [line.split()[0] for line in lines] for heading, lines in listed.items()} == {
        heading: [*commands] for heading, commands in PANELS.items()
    }
    sentences = dict(line.split(maxsplit=1) for lines in listed.values() for line in lines)
    assert [text for text in sentences.values() if len(text) > 60 or not text.endswith(".")] == []
    assert [text for text in sentences.values() if text.endswith("...")] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_as_the_list_does(place: Workplace, command: str) -> None:
    done = place.do(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"orchestrator {command}" in done.stdout
    _, sentence = COMMANDS[command]
    assert " ".join(done.stdout.split()).partition("[OPTIONS]")[2].find(sentence) > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--nonsense", "orchestrator: no option --nonsense"),
        ("nonsense", "orchestrator: no command 'nonsense'"),
        ("modles", "orchestrator: no command 'modles'; did you mean `orchestrator models`?"),
        ("list", "orchestrator: no command 'list'; did you mean `orchestrator models list`?"),
        ("diff", "orchestrator: no command 'diff'; did you mean `orchestrator compare`?"),
        ("visualize", "no command 'visualize'; did you mean `orchestrator report`?"),
        ("serve", "no command 'serve'; did you mean `orchestrator browser`?"),
        ("bench --device cuda", "no option --device; did you mean --backend?"),
        ("verify --hardware cuda", "no option --hardware; did you mean --backend?"),
        ("predict --model x --hardware h", "no option --hardware; did you mean --device?"),
        ("compare --by backend --device x", "no option --device; did you mean --hardware?"),
        ("compare --compare-hardware", "did you mean --by hardware?"),
        ("plan m.yaml --gpu 0", "no option --gpu; did you mean --set axes.backend=…?"),
        ("completions", "did you mean `orchestrator --install-completion`?"),
        ("run --nonsense", "orchestrator run: no option --nonsense"),
        ("bench --modle x", "orchestrator bench: no option --modle; did you mean --model?"),
        ("bench --resume run-1", "did you mean `orchestrator run --resume RUN_ID`?"),
        ("export generation", "`orchestrator export generation --output generation.parquet`"),
        ("run m.yaml --precisions x", "did you mean --set axes.precision=…?"),
        ("plan m.yaml --iterations 3", "did you mean --set measure.iterations=…?"),
        ("bench m.yaml", "unexpected 'm.yaml'; did you mean `orchestrator run m.yaml`?"),
        ("bench bert-tiny", "unexpected 'bert-tiny'; did you mean --model bert-tiny?"),
        ("run bert-tiny", "did you mean `orchestrator bench --model bert-tiny`?"),
        ("verify bert-tiny", "there is no such bundle; did you mean --model bert-tiny?"),
        ("run matrix.yaml --limit 0", "--limit: 0 is less than 1"),
        ("run matrix.yaml --launcher cloud", "--launcher: 'cloud' is not one of auto, docker, pro"),
        ("run matrix.yaml --budget soon", "--budget: 'soon' is not a duration such as 90s"),
        ("run --quiet=1", "--quiet: takes no value"),
        ("run --resume", "--resume: requires an argument"),
        ("run", "name a matrix file"),
        ("bench --seed -1", "--seed: -1 is not between 0 and "),
        ("bench --batch-size 1, 4", "--batch-size 1, 4: no blanks: 1,4"),
        ("plan matrix.yaml --format xml", "--format: 'xml' is not one of table,"),
        ("merge", "orchestrator merge: RESULTS… is missing"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_happens(
    place: Workplace, line: str, message: str
) -> None:
    before = files(place.folder)
    done = place.do(*shlex.split(line))
    complains(done, 2, "error: ", message, "hint: ")
    assert "Value error" not in done.stderr
    assert files(place.folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "bench --models bert-tiny --batch_sizes 1,2 --quiet --dry-run",
        "--quiet bench --model bert-tiny --batch-size 1 --batch_size 2 --dry-run",
        "bench --model bert-tiny --set axes.batch-sizes=1,2 --dry-run -q",
        "bench --model bert-tiny --set batch_sizes=1,2 --dry-run",
        "bench --model bert-tiny --set batch_size=[1,2] --dry-run --debug",
        "bench --model bert-tiny --batch-sizes 1,2 --runtimes PyTorch --precisions float32 "
        "--backends host --modes infer --scenarios singlestream --dry-run",
    ],
)
def test_one_thing_has_one_name_in_any_spelling(place: Workplace, line: str) -> None:
    done = place.do(*shlex.split(line), "--json")
    assert [cell["cell_id"] for cell in json.loads(done.stdout)["cells"]] == [
        f"cpu-bert-tiny-fp32-b{size}-s128-inference" for size in (1, 2)
    ]


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ("--backend all", "'all' is no backend; `orchestrator bench --backend available` takes"),
        ("--backend pytorch", "--backend: PyTorch is --backend cpu --runtime torch"),
        ("--backend ort", "--backend: ONNX Runtime is --backend cpu --runtime onnxruntime"),
        ("--backend GPU", "'GPU' could be cuda (NVIDIA), rocm (AMD) or mps (Apple)"),
        ("--runtime nvidia", "--runtime: nvidia is --backend cuda"),
        ("--runtime tvm", "--runtime: 'tvm' is not one of default, torch, "),
        ("--precision fp17", "--precision: 'fp17' is unknown; did you mean fp16? (fp32, bf16, "),
        ("--mode trainings", "--mode: 'trainings' is unknown; did you mean training? (inf"),
    ],
)
def test_a_word_that_belongs_elsewhere_is_answered_with_the_right_option(
    place: Workplace, options: str, answer: str
) -> None:
    complains(place.do("bench", "--model", "bert-tiny", *options.split()), 2, answer)


@pytest.mark.parametrize("line", ["bench -h", "models list -h"])
def test_help_has_a_short_name_and_shows_values_by_name(place: Workplace, line: str) -> None:
    done = place.do(*line.split())
    assert (done.returncode, done.stdout) == (0, place.do(*line.split()[:-1], "--help").stdout)
    assert "<" not in done.stdout
    assert "x>=" not in done.stdout


def test_debug_shows_where_an_error_came_from(place: Workplace) -> None:
    plain = place.do("run", "nowhere.yaml")
    complains(plain, 2, "error: nowhere.yaml")
    debugged = place.do("--debug", "run", "nowhere.yaml")
    assert debugged.returncode == 2
    assert debugged.stderr.startswith("Traceback")
    assert debugged.stderr.endswith(plain.stderr)
    assert place.do("--quiet", "run", "nowhere.yaml").stderr == plain.stderr


ENGINE = ("docker", "requests")
TABLES = ("numpy", "pandas", "pyarrow", "orchestrator.exchange.bundles.check")
DATABASE = ("duckdb", "orchestrator.store.store")
SCREEN = ("rich.progress", "rich.table")
MODELS = ("runner.contract.cell",)
RECORDS = ("runner.contract.record.record", "orchestrator.store.merge.merge")
_REPORT = """
import json, sys
from orchestrator.commands.main import main
sys.argv = json.loads(sys.argv[1])
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("--help",), ("pydantic", *ENGINE, *TABLES, *DATABASE, *SCREEN, *MODELS)),
        (("plan", "matrix.yaml"), (*ENGINE, *TABLES, *RECORDS, "orchestrator.running.execution")),
        (("query", "SELECT 1, now()"), (*ENGINE, *TABLES, *SCREEN, *MODELS, *RECORDS)),
    ],
    ids=lambda value: value[0] if value[0] in {"--help", "bench", "plan", "status"} else None,
)
def test_a_short_command_imports_nothing_heavy(
    tmp_path: Path, arguments: tuple[str, ...], unwanted: tuple[str, ...]
) -> None:
    Store.open(tmp_path / "results" / "benchmarks.duckdb").close()
    axes = "{model: bert-tiny, backend: cpu}"
    (tmp_path / "matrix.yaml").write_text(f"version: 1\naxes: {axes}\n", "utf-8")
    command = [sys.executable, "-c", _REPORT, json.dumps(["orchestrator", *arguments])]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    loaded = set(json.loads(output.stdout.splitlines()[-1]))
    assert loaded.isdisjoint(unwanted), loaded & set(unwanted)
