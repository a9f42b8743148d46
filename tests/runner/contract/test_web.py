"""The browser that a user chooses."""

import pytest

from runner.contract.web import BrowserChoice

CHROME = "/opt/google/chrome"


@pytest.mark.parametrize(
    ("variables", "choice", "words"),
    [
        ({}, None, ""),
        ({"ACCELMATRIX_BROWSER": "", "ACCELMATRIX_BROWSER_HEADED": "0"}, None, ""),
        ({"ACCELMATRIX_BROWSER": "edge"}, BrowserChoice(name="edge"), "edge"),
        ({"ACCELMATRIX_BROWSER": CHROME}, BrowserChoice(name=CHROME), CHROME),
        (
            {"ACCELMATRIX_BROWSER": "/home/me/chrome", "HOME": "/home/me"},
            BrowserChoice(name="~/chrome"),
            "~/chrome",
        ),
        ({"ACCELMATRIX_BROWSER_HEADED": "1"}, BrowserChoice(headed=True), "our own, with a window"),
    ],
)
def test_variables_tell_the_choice(
    variables: dict[str, str], choice: BrowserChoice | None, words: str
) -> None:
    assert BrowserChoice.of(variables) == choice
    assert choice is None or str(choice) == words
