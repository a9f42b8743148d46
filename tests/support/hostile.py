"""Content that nobody writes by mistake: samples changed, cut and flipped, and none at all."""

import copy
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

DEEP = "\x01deep"
"""Stands for lists nested 100,000 deep, which `json.dumps` itself cannot write."""
HUGE = "\x01huge"
"""Stands for `1e999`, which is infinite once it is read."""
_RAW = {json.dumps(DEEP): "[" * 100_000 + "]" * 100_000, json.dumps(HUGE): "1e999"}

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 1.5, 1e300, 2**31, 2**63, 2**64, 10**30, 10**400),
    *(float("nan"), float("inf"), float("-inf"), HUGE),
    *("", " ", "x", "7", "1e3", "true", "nan", "\ud800", "\x00", "\x1b[31m", "../../x", "a/b"),
    *("x" * 5000, "é" * 300, "2026-11-22T00:00:00+23:59", "0001-01-01T00:00:00+23:59"),
    *([], [[]], [{}], [None], [1, "x"], [10**400], {}, {"a": 1}, {"a": {"b": []}}, {"": None}),
    *([0] * 2000, {str(key): key for key in range(300)}, DEEP),
]
"""Wrong types, depths and sizes."""

_ANY_JSON = st.recursive(
    st.sampled_from(VALUES) | st.text(max_size=4) | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def as_json(value: Any) -> bytes:
    """JSON as hostile as the value asks for."""
    text = json.dumps(value)
    for placeholder, raw in _RAW.items():
        text = text.replace(placeholder, raw)
    return text.encode("utf-8", "surrogatepass")


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """The content cut off, with bits flipped, bytes put in between, or none of it."""
    end = max(len(content) - 1, 0)
    flips = st.lists(st.tuples(st.integers(0, end), st.integers(1, 255)), min_size=1, max_size=4)
    strays = st.sampled_from([b"\xff", b"\x00", b"\xed\xa0\x80", b"[" * 50, b'"', b"\xef\xbb\xbf"])
    return st.one_of(
        st.integers(0, end).map(lambda length: content[:length]),
        flips.map(lambda places: _flipped(content, places)),
        st.tuples(st.integers(0, end), strays).map(
            lambda stray: content[: stray[0]] + stray[1] + content[stray[0] :]
        ),
        st.binary(max_size=64),
        st.sampled_from([b"", b"\x00" * 64, b"[" * 100_000, b'{"a":' * 100_000, b"PAR1" * 8]),
    )


def documents(sample: Any) -> st.SearchStrategy[bytes]:
    """JSON: the sample with a value changed, taken out or renamed, or any other data."""
    return _changed(sample).map(as_json) | _ANY_JSON.map(as_json)


def tables(row: Mapping[str, Any], schema: pa.Schema) -> st.SearchStrategy[bytes]:
    """Parquet: the row with columns that hold other types and values, or that are gone."""
    values = [value for value in VALUES if value not in (DEEP, HUGE)]
    columns = st.dictionaries(
        st.sampled_from(sorted(row)), st.sampled_from(values) | st.just(_ABSENT), max_size=3
    )
    return columns.map(lambda changes: _table({**row, **changes}, schema, frozenset(changes)))


_ABSENT = object()


def _table(row: Mapping[str, Any], schema: pa.Schema, changed: frozenset[str]) -> bytes:
    arrays: dict[str, pa.Array] = {}
    for name, value in row.items():
        if value is not _ABSENT:
            arrays[name] = _array(value, None if name in changed else schema.field(name).type)
    file = io.BytesIO()
    pq.write_table(pa.table(arrays), file)
    return file.getvalue()


def _array(value: Any, type_: pa.DataType | None) -> pa.Array:
    try:
        array = pa.array([value], type_)
        if type_ is None:
            pq.write_table(pa.table({"x": array}), io.BytesIO())
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.array([repr(value)])
    return array


@st.composite
def _changed(draw: st.DrawFn, sample: Any) -> Any:
    value = copy.deepcopy(sample)
    for _ in range(draw(st.integers(1, 2))):
        *way, key = draw(st.sampled_from(list(_places(value)) or [("",)]))
        holder = value
        for step in way:
            holder = holder[step]
        change = draw(st.sampled_from(["replace", "replace", "remove", "rename"]))
        if key == "" or change == "replace":
            if key == "":
                return draw(st.sampled_from(VALUES))
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif change == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "x", "\ud800", "x" * 3000]))] = holder.pop(key)
        else:
            del holder[key]
    return value


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if way:
        yield way
    items = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else items:
        yield from _places(item, (*way, key))


def _flipped(content: bytes, places: list[tuple[int, int]]) -> bytes:
    changed = bytearray(content)
    for place, bits in places:
        if place < len(changed):
            changed[place] ^= bits
    return bytes(changed)


def zip_of(members: Mapping[str, bytes], compression: int = ZIP_STORED) -> bytes:
    """An archive as anybody may write one."""
    file = io.BytesIO()
    with ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()
