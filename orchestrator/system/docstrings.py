"""Docstrings of attributes: the text below a field, which Python itself does not keep.

pydantic could read them whenever a class is made, but a command would wait for the parsing of all
source it imports; so those who show the texts ask for them.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any


def attribute_docs(owner: type) -> Mapping[str, str]:
    """The documentation of a class's annotated fields, those of its bases among them."""
    bases = [base for base in reversed(owner.__mro__) if "__annotations__" in vars(base)]
    return {name: doc for base in bases for name, doc in _own_docs(base)}


def describe_properties(schema: dict[str, Any], owner: type) -> None:
    """Add the documentation of a class's fields to the properties of its JSON schema."""
    docs = attribute_docs(owner)
    schema["properties"] = {
        name: dict(sorted({**key, "description": docs[name]}.items()))
        for name, key in schema["properties"].items()
    }


def _own_docs(owner: type) -> Iterator[tuple[str, str]]:
    (body,) = ast.parse(dedent(inspect.getsource(owner))).body
    for field, text in pairwise(getattr(body, "body", ())):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(doc))),
            ):
                yield name, inspect.cleandoc(doc)
