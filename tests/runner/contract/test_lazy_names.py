"""Packages whose names are imported when they are used give each of them, and no others."""

import importlib

import pytest

PACKAGES = ("orchestrator.images", "orchestrator.store", "runner.contract.record")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_is_there(name: str) -> None:
    package = importlib.import_module(name)
    for exported in package.__all__:
        assert getattr(package, exported) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
