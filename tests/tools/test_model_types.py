"""The list of architectures is that of the transformers that images pin."""

import json

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


def test_the_list_is_that_of_the_pinned_transformers() -> None:
    from tools.model_types import FILE, types_text

    text = FILE.read_text("utf-8")
    assert text == types_text() + "\n", "run python -m tools.model_types"
    pin = f"transformers=={json.loads(text)['transformers']}"
    assert pin in (ROOT / "images/cpu/requirements.txt").read_text("utf-8")
