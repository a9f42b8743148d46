"""The GitHub workflows: what they run exists, and the matrix they plan is measured cell by cell."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.backends.catalogue import image_names
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from orchestrator.system.selector import Selector
from tests.conftest import ROOT
from tests.docs.command_line import parse
from tests.docs.workspace import NOTE_CALLS, PROGRAMS, REAL, Workspace, benchmark_script

FOLDER = ROOT / ".github/workflows"
NAMES = sorted(path.name for path in FOLDER.iterdir())
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
OWN_ACTIONS = [*(ROOT / ".github/actions").glob("*/action.yml")]
ACTIONS = [
    *FOLDER.iterdir(),
    *(ROOT / "docs/examples/github").glob("*.yml"),
    *OWN_ACTIONS,
    ROOT / "action.yml",
]
ACTION = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")
READING = {"contents": "read"}
PUSHING = READING | {"packages": "write"}
SIGNING = PUSHING | {"id-token": "write"}
WRITING: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "benchmark.yml": {
        "judge": READING | {"pull-requests": "write"},
        "submit": {"contents": "write"},
        "remember": {"contents": "write"},
    },
    "build-images.yml": {"build": PUSHING, "sign": SIGNING},
    "images.yml": {"build": SIGNING},
    "nightly.yml": {
        "benchmark": {"contents": "write", "pull-requests": "write"},
        "site": READING | {"pages": "write", "id-token": "write"},
    },
    "release.yml": {
        "images": SIGNING,
        "pypi": READING | {"id-token": "write"},
        "publish": {"contents": "write"},
    },
}
"""The permissions of the jobs that may do more than read."""
OWN = "$/"
"""GitHub's name for the repository of the workflow that runs."""
EVERYWHERE = "cpu,openvino,wasm,webnn,webgpu"
"""The backends that GitHub's own machines verify; those for arm64 have no browser."""
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
CELLS = [entry.cell for entry in make_plan(load_matrix(ROOT / "matrix.yaml")).entries]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.prepare(NOTE_CALLS)
    return made


def load(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / name).read_text("utf-8")))


def jobs(name: str) -> Mapping[str, Any]:
    return dict(load(name)["jobs"])


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in jobs(name).values() for step in job.get("steps", ())]


@pytest.mark.parametrize("name", NAMES)
def test_jobs_refer_to_jobs_and_steps_that_exist(name: str) -> None:
    known = jobs(name)
    for job in known.values():
        needs = job.get("needs", [])
        named = {needs} if isinstance(needs, str) else set(needs)
        assert named <= set(known)
    for expression in EXPRESSION.findall((FOLDER / name).read_text("utf-8")):
        for job_name in re.findall(r"needs\.(\w+)\.", expression):
            assert job_name in known
        for step_id in re.findall(r"steps\.(\w+)\.", expression):
            assert step_id in [step.get("id") for step in steps(name)]


@pytest.mark.parametrize("name", NAMES)
def test_workflows_only_read_pin_actions_and_paste_no_expression(name: str) -> None:
    assert load(name)["permissions"] == {"contents": "read"}
    for title, job in jobs(name).items():
        assert job.get("permissions") == WRITING.get(name, {}).get(title)
        if "uses" in job:
            assert (ROOT / job["uses"].removeprefix("$/")).exists()
    uses = re.findall(r"uses: ([^$\n].+)", (FOLDER / name).read_text("utf-8"))
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert len(uses) == len([action for action in used if not action.startswith(OWN)])
    for action in used:
        if action.startswith(OWN):
            assert (ROOT / action.removeprefix(OWN) / "action.yml") in OWN_ACTIONS
    for line in uses:
        assert ACTION.fullmatch(line), f"{line}: name the action's commit, and its tag behind it"
    for step in steps(name):
        assert ("run" in step) != ("uses" in step)
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert not EXPRESSION.search(step.get("run", ""))
        for target in re.findall(r"^make (\w+)", step.get("run", ""), re.MULTILINE):
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_only_a_tag_releases_and_a_base_without_digest_stops_every_build() -> None:
    assert load("release.yml")[True] == {"push": {"tags": ["v*"]}}
    assert set(load("build-images.yml")[True]) == {"workflow_call"}
    builds = jobs("build-images.yml")
    assert "check --require" in "".join(step.get("run", "") for step in builds["bases"]["steps"])
    assert (builds["build"]["needs"], builds["sign"]["needs"]) == ("bases", "build")


def test_a_release_is_made_in_an_order_in_which_each_step_can_stop_it() -> None:
    needs = {name: job.get("needs") for name, job in jobs("release.yml").items()}
    assert needs == {
        "check": None,
        "images": "check",
        "package": "images",
        "verify": "package",
        "pypi": "verify",
        "publish": "pypi",
    }


def test_every_image_is_built_and_signed_and_those_with_wheels_for_arm64_too() -> None:
    builds = jobs("build-images.yml")
    matrix = builds["build"]["strategy"]["matrix"]
    assert matrix["image"] == builds["sign"]["strategy"]["matrix"]["image"] == [*image_names()]
    arm = [one["image"] for one in matrix["include"] if one["platform"] == "linux/arm64"]
    assert arm == ["cpu", "openvino"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_understood(name: str, workspace: Workspace) -> None:
    (workspace.folder / "github/releases/benchmark-history").mkdir(parents=True)
    for step in steps(name):
        if any(program in step.get("run", "") for program in PROGRAMS):
            for file in ("assets.txt", "benchmarks.duckdb", "run-1-1.zip"):
                (workspace.folder / "history").mkdir(exist_ok=True)
                (workspace.folder / "history" / file).touch()
            calls = workspace.execute(step["run"])
            assert calls
            for call in calls:
                parse(call)


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.name)
def test_scripts_are_sound_shell(path: Path, tmp_path: Path) -> None:
    document = yaml.safe_load(path.read_text("utf-8"))
    parts = document.get("jobs", {"runs": document.get("runs")}).values()
    for number, step in enumerate(step for part in parts for step in part.get("steps", ())):
        (tmp_path / f"{number}.sh").write_text(f"#!/bin/bash\n{step.get('run', '')}\n")
    shellcheck = Path(sys.executable).with_name("shellcheck")
    scripts = sorted(tmp_path.glob("*.sh"))
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_the_example_calls_the_workflow_with_inputs_that_it_has() -> None:
    example = yaml.safe_load((ROOT / "docs/examples/github/benchmark.yml").read_text("utf-8"))
    (job,) = example["jobs"].values()
    assert ".github/workflows/benchmark.yml@" in job["uses"]
    assert set(job["with"]) <= set(load("benchmark.yml")[True]["workflow_call"]["inputs"])
    for own in jobs("benchmark.yml").values():
        granted = own.get("permissions", {})
        assert all(
            job["permissions"].get(name) in (right, "write") for name, right in granted.items()
        )


def test_every_micro_model_is_verified_where_ci_can_regularly_and_by_each_launcher(
    workspace: Workspace,
) -> None:
    # YAML 1.1 reads the key `on` as true.
    assert {"schedule", "workflow_dispatch"} <= set(load("verify.yml")[True])
    job = jobs("verify.yml")["verify"]
    assert job["env"]["BACKENDS"] == EVERYWHERE
    calls = verifications(job, workspace, EVERYWHERE)
    assert [call["launcher"] for call in calls] == ["process", "docker"]
    assert "make cpu openvino browser" in [step.get("run") for step in job["steps"]]


@pytest.mark.parametrize("name", ["release.yml", "images.yml"])
def test_published_images_are_verified_where_their_machine_has_them(
    name: str, workspace: Workspace
) -> None:
    job = jobs(name)["verify"]
    entries = job["strategy"]["matrix"]["include"]
    assert [entry["backends"] for entry in entries] == [EVERYWHERE, "cpu,openvino"]
    for entry in entries:
        (call,) = verifications(job, workspace, entry["backends"])
        assert call["launcher"] == "docker"


def verifications(
    job: Mapping[str, Any], workspace: Workspace, backends: str
) -> list[Mapping[str, Any]]:
    """The options of each verification of a job, all of the micro models on these backends."""
    scripts = [step["run"] for step in job["steps"] if "orchestrator verify" in step.get("run", "")]
    calls = [parse(call) for text in scripts for call in workspace.execute(text, BACKENDS=backends)]
    assert all((call["model"], call["backend"]) == (["micro"], [backends]) for call in calls)
    return calls


def test_the_plan_becomes_a_matrix_that_measures_every_cell_once(tmp_path: Path) -> None:
    planning = Workspace(tmp_path / "plan")
    planning.prepare(REAL)
    planning.execute(benchmark_script("Plan"))
    name, _, value = (planning.folder / "output").read_text("utf-8").partition("=")
    entries = json.loads(value)["include"]
    assert name == "matrix"
    assert value.count("\n") == 1
    assert all("self-hosted" in entry["runs-on"] for entry in entries)

    measuring = Workspace(tmp_path / "measure")
    measuring.prepare(NOTE_CALLS)
    measured = []
    for entry in entries:
        (call,) = measuring.execute(benchmark_script("Measure"), SELECT=" ".join(entry["select"]))
        selector = Selector(parse(call)["select"])
        kept = [cell.id for cell in CELLS if selector.keeps(cell)]
        assert len(kept) == entry["cells"]
        measured += kept
    assert sorted(measured) == sorted(cell.id for cell in CELLS)


@pytest.mark.parametrize(
    ("runs_on", "most", "options"),
    [
        ("", "256", {"runs_on": (), "max_jobs": 256}),
        ("cpu=self-hosted,a b\n\ncuda=gpu", "3", {"runs_on": ["cpu=self-hosted,a b", "cuda=gpu"]}),
    ],
)
def test_callers_name_their_runners(
    workspace: Workspace, runs_on: str, most: str, options: Mapping[str, Any]
) -> None:
    (call,) = workspace.execute(benchmark_script("Plan"), RUNS_ON=runs_on, MAX_JOBS=most)
    assert options.items() <= parse(call).items()
