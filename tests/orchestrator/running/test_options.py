"""Options of a run in words: images of the user's, and labels."""

import pytest

from orchestrator.running.options import ChosenImage, Label, RunOptions, ci_labels
from runner.contract.errors import UsageError


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("ghcr.io/me/cpu", "'ghcr.io/me/cpu' is not one of"),
        ("cpp=x", "cpu"),
        ("mps=x", "no container can reach a device of mps"),
        ("cpu=", "is no name of an image"),
        ("cpu=x@sha256:1", "is no name of an image"),
    ],
)
def test_what_names_no_image_is_refused(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ChosenImage.parse(word)


def test_of_two_images_of_a_backend_the_first_is_the_baseline() -> None:
    words = ["cpu=me/cpu:1", "openvino=me/ov:1", "cpu=me/cpu:2"]
    options = RunOptions(image=[*map(ChosenImage.parse, words)])
    assert options.first_images == (ChosenImage("cpu", "me/cpu:1"),)
    assert options.images == {"cpu": "me/cpu:2", "openvino": "me/ov:1"}
    assert RunOptions().first_images == ()
    third = RunOptions(image=[*map(ChosenImage.parse, [*words, "cpu=me/cpu:3"])])
    with pytest.raises(UsageError, match="cpu has 3 images"):
        _ = third.first_images


@pytest.mark.parametrize("pair", [("a", "1"), ("b", "x=y"), ("a", ""), ("c.d-e_f", "ü")])
def test_a_label_is_a_pair(pair: tuple[str, str]) -> None:
    assert Label.parse("=".join(pair)) == pair


@pytest.mark.parametrize("word", ["a", "=1", "1a=x", "a b=x", "ä=x", "a=\n", "a=\x1b[2J", "a" * 64])
def test_what_is_no_label_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="--label"):
        Label.parse(word)


GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SHA": "abc",
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "me/models",
    "GITHUB_RUN_ID": "7",
}
OF_GITHUB = {
    "github_sha": "abc",
    "github_ref": "refs/heads/main",
    "github_run": "https://github.com/me/models/actions/runs/7",
}


@pytest.mark.parametrize(
    ("environment", "labels"),
    [
        (GITHUB, OF_GITHUB),
        ({**GITHUB, "GITHUB_ACTIONS": ""}, {}),
        (
            {"GITLAB_CI": "true", "CI_COMMIT_SHA": "abc", "CI_JOB_URL": "https://x/1"},
            {"gitlab_sha": "abc", "gitlab_job": "https://x/1"},
        ),
    ],
)
def test_a_ci_job_says_of_itself_what_it_is(
    environment: dict[str, str], labels: dict[str, str]
) -> None:
    assert dict(ci_labels(environment)) == labels
