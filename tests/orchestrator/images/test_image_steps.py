"""Steps of a build, in one line each that fits 80 columns."""

import pytest

from orchestrator.images.image_steps import BuildSteps, fitted_step


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (
            "Step 3/18 : RUN --mount=type=cache,target=/x pip install --no-cache-dir "
            "--require-hashes -r requirements.txt",
            ["building openvino: step 3/18, pip install --no-cache-dir …, 1m12s"],
        ),
        ("Step 1/18 : FROM python", ["building openvino: step 1/18, FROM python, 1m12s"]),
        (" ---> Running in 0123456789ab", []),
    ],
)
def test_a_step_is_reported_with_the_time_gone_by(line: str, reported: list[str]) -> None:
    moments = iter((100.0, 172.0))
    lines: list[str] = []
    BuildSteps("openvino", lines.append, lambda: next(moments))(line)
    assert lines == reported
    assert all(len(line) < 80 for line in lines)


def test_a_narrow_place_keeps_the_step_and_the_time() -> None:
    line = "building cpu: step 3/18, pip install …, 12s"
    assert fitted_step(line, 80) == line
    assert fitted_step(line, 30) == "building cpu: step 3/18, 12s"
