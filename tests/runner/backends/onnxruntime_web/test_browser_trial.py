"""The browsers that a trial finds, and what it says of those that do not work."""

from pathlib import Path

import pytest

from runner.backends.onnxruntime_web import browser as browsers
from runner.backends.onnxruntime_web import browser_trial


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs: Edge under both of its names, and Firefox."""
    edge = tmp_path / "microsoft-edge"
    for path in (edge, tmp_path / "firefox-esr", tmp_path / "my-own"):
        path.write_text("#!/bin/sh\necho no screen >&2; exit 1\n")
        path.chmod(0o755)
    (tmp_path / "microsoft-edge-stable").symlink_to(edge)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browsers, "OWN_BROWSER", tmp_path / "none")
    monkeypatch.setattr(browsers, "_COMMANDS", {"edge": ("microsoft-edge",), "chrome": ("none",)})
    return tmp_path


@pytest.mark.parametrize(("asked", "more"), [("", []), ("edge", []), ("my-own", ["my-own"])])
def test_each_browser_is_found_once_and_the_one_that_is_asked_for(
    folder: Path, asked: str, more: list[str]
) -> None:
    found = browsers.found_browsers({"ACCELMATRIX_BROWSER": asked})
    assert found == {"edge": folder / "microsoft-edge", **{name: folder / name for name in more}}


def test_each_backend_is_tried_and_firefox_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(executable: Path, backend: str) -> None:
        raise OSError(f"{executable.name} has no {backend}\nbelow is a trace")

    monkeypatch.setattr(browser_trial, "_try", refuse)
    rows = [*browser_trial.findings({})]
    assert [(row["browser"], row["backend"], row["works"]) for row in rows] == [
        ("edge", "wasm", False),
        ("edge", "webgpu", False),
        ("edge", "webnn", False),
        ("firefox", None, False),
    ]
    assert rows[2]["message"] == "microsoft-edge has no webnn"
    assert rows[3]["executable"] == str(folder / "firefox-esr")
