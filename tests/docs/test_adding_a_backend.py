"""docs/adding-a-backend.md, followed step by step in a copy of the checkout."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.images.source import SourceFolders, find_source
from tests.conftest import ROOT
from tests.docs.pages import Block, Page

PAGE = Page(ROOT / "docs/adding-a-backend.md")
COPIED = ("runner", "analysis", "orchestrator", "tools", "tests", "images", "pyproject.toml")
HOMES = {
    "runner/backends/": "one package and its line in the registry",
    "runner/contract/": "names and rows",
    "orchestrator/backends/catalogue.py": "one row",
    "pyproject.toml": "the extra that reads the image folder's list",
}
"""All that adding a backend touches, beside its image folder."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which every step was taken."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in COPIED:
        if (ROOT / name).is_dir():
            unread = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=unread)
        else:
            shutil.copy(ROOT / name, folder / name)
    for block in PAGE.blocks():
        follow(block, folder)
    return folder


def follow(block: Block, folder: Path) -> None:
    """Do what a block says: change a file, write one, or type the lines that make files."""
    language, _, name = block.language.partition(" ")
    path = folder / name
    if language == "diff":
        change(path, block.text)
    elif name:
        assert not path.exists(), f"{name} is there already"
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text)
    elif block.text.startswith("mkdir"):
        subprocess.run(["sh", "-e", "-c", block.text], cwd=folder, check=True)
    elif block.text.startswith("make schemas"):
        do(folder, "-m", "tools.columns").check_returncode()


def change(path: Path, difference: str) -> None:
    """Replace the lines before by those after; they must stand there once."""
    lines = difference.splitlines()
    before = "\n".join(line[1:] for line in lines if line[0] in " -")
    after = "\n".join(line[1:] for line in lines if line[0] in " +")
    text = path.read_text()
    assert text.count(before) == 1, f"{path.name}: {before!r} stands there {text.count(before)}×"
    path.write_text(text.replace(before, after))


def do(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in the copy."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_backend_is_one_package_one_row_and_one_image_folder(checkout: Path) -> None:
    files = {block.language.partition(" ")[2] for block in PAGE.blocks()} - {""}
    assert {home for home in HOMES if any(name.startswith(home) for name in files)} == set(HOMES)
    assert all(name.startswith(tuple(HOMES)) for name in files)
    assert (checkout / "images/toy/Dockerfile").is_file()


@pytest.mark.nightly
@pytest.mark.slow
def test_the_contract_tests_find_the_runtime_and_hold(checkout: Path) -> None:
    contract = "tests/contracts/test_runtimes.py"
    done = do(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", contract, "-k", "toy")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.slow
@pytest.mark.nightly
def test_the_backend_is_verified_like_any_other(checkout: Path, tmp_path: Path) -> None:
    options = ["--model", "bert-micro", "--backend", "toy", "--launcher", "process"]
    where = ["--results", str(tmp_path / "results"), "--mode", "inference", "--json"]
    done = do(checkout, "-m", "orchestrator", "verify", *options, *where)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert (cell["backend"], cell["runtime"], cell["mark"]) == ("toy", "toy", "ok")


@pytest.mark.slow
def test_its_results_are_measured_and_drawn(checkout: Path, tmp_path: Path) -> None:
    where = ["--results", str(tmp_path / "results")]
    cell = ["--model", "bert-micro", "--backend", "toy", "--launcher", "process"]
    short = ["--iterations", "3", "--set", "measure.min_duration=0s"]
    short += ["--set", "measure.max_duration=300ms", "--set", "measure.warmup_max_duration=200ms"]
    done = do(checkout, "-m", "orchestrator", "bench", *cell, *short, *where)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "page.html"
    report = ["report", "performance", "--output", str(page), *where]
    done = do(checkout, "-m", "orchestrator", *report)
    assert done.returncode == 0, done.stderr
    assert "--toy:" in page.read_text("utf-8")


@pytest.mark.slow
def test_the_doctor_knows_it_and_its_image_folder_is_found(checkout: Path) -> None:
    diagnoses = json.loads(do(checkout, "-m", "orchestrator", "doctor", "--json").stdout)
    toys = {row["launcher"]: row for row in diagnoses if row["backend"] == "toy"}
    assert set(toys) == {"docker", "process"}
    assert (toys["process"]["runs"], toys["process"]["support_class"]) == (True, 3)
    source = find_source("toy", SourceFolders.of(checkout))
    assert source
    assert source.dockerfile == "images/toy/Dockerfile"
    assert "images/toy/requirements.txt" in source.context().read().decode("latin-1")
