from dataclasses import dataclass

from orchestrator.system.docstrings import attribute_docs


@dataclass
class Sized:
    size: int
    """Its size,
    in bytes."""
    plain: int = 0
    other = 0
    """No field."""


class Named(Sized):
    """A class whose base says something too."""

    name: str
    """Its name."""


def test_the_text_below_a_field_documents_it_also_in_a_subclass() -> None:
    assert attribute_docs(Named) == {"size": "Its size,\nin bytes.", "name": "Its name."}
