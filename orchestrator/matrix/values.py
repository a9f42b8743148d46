"""The values that a matrix may hold: what is allowed, and the sentence that refuses the rest."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from analysis.results.synonyms import counsel, meaning
from orchestrator.system.problems import quote
from orchestrator.system.text import parse_duration, parse_share, parse_size
from runner.contract.axes import FIND_PEAK, Axis, Backend
from runner.contract.cell import ProfileName
from runner.contract.errors import refuse_unknown

BACKENDS: tuple[Backend, ...] = get_args(Backend)
LARGEST = 1_000_000
"""The largest batch size and number of tokens: beyond it is a typing error."""
SLOWEST = 0.001
FASTEST = 100_000
"""The least and the most queries per second, and milliseconds to meet."""

T = TypeVar("T")


def _choice(allowed: Sequence[str], axis: Axis | None = None) -> BeforeValidator:
    offered = [name for name in allowed if name != "fake"]

    def check(value: object) -> object:
        if value not in allowed:
            raise ValueError(_refusal(value, offered, axis))
        return value

    return BeforeValidator(check)


def _refusal(value: object, offered: Sequence[str], axis: Axis | None) -> str:
    """The sentence that refuses a value, and names the one that is meant by it."""
    if axis is None or not isinstance(value, str):
        return refuse_unknown(value, offered)
    meant, advice = meaning(axis, value), counsel(axis, value, in_file=True)
    if meant != value:
        return f"{quote(value)} is unknown; did you mean {meant}? ({', '.join(offered)})"
    return advice or refuse_unknown(value, offered)


def _enum(allowed: Sequence[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": [name for name in allowed if name != "fake"]})


def _quantity(value: object, otherwise: str = "") -> float:
    """A number that cell ids, which show six digits, can tell from any other."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{quote(value)} is not a number{otherwise}")
    if not SLOWEST <= value <= FASTEST:
        raise ValueError(f"{quote(value)} is not between {SLOWEST:g} and {FASTEST:,}{otherwise}")
    number = float(value)
    if float(f"{number:g}") != number:
        raise ValueError(f"{quote(value)} has more than six digits")
    return number


def _rate(value: object) -> float | str:
    return FIND_PEAK if value == FIND_PEAK else _quantity(value, f", nor {FIND_PEAK}")


def _positive(parse: Callable[[object], float]) -> Callable[[object], float]:
    def check(value: object) -> float:
        if number := parse(value):
            return number
        raise ValueError(f"{value!r} is not above 0")

    return check


def _unit_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number"], "examples": [example]})


_QUANTITY = {"type": "number", "minimum": SLOWEST, "maximum": FASTEST}

BackendValue = Annotated[Backend, _choice(BACKENDS), _enum(BACKENDS)]
ProfileValue = Annotated[ProfileName, _choice(get_args(ProfileName))]


def _side_by_side(value: object) -> object:
    if value == "auto":
        return None
    if not isinstance(value, bool):
        raise ValueError(refuse_unknown(value, ("true", "false", "auto")))
    return value


SideBySideValue = Annotated[
    bool | None, BeforeValidator(_side_by_side), WithJsonSchema({"enum": [True, False, "auto"]})
]
SizeValue = Annotated[int, Field(ge=1, le=LARGEST)]
CountValue = Annotated[int, Field(ge=1, le=1000)]
_ModelValue = Annotated[str, Field(min_length=1)]
SloValue = Annotated[float, BeforeValidator(_quantity), WithJsonSchema(_QUANTITY)]
RateValue = Annotated[
    float | Literal["find_peak"],
    BeforeValidator(_rate),
    WithJsonSchema({"anyOf": [_QUANTITY, {"const": FIND_PEAK}]}),
]
ShareValue = Annotated[float, BeforeValidator(parse_share), _unit_schema("2%")]
DurationValue = Annotated[float, BeforeValidator(parse_duration), _unit_schema("90s")]
PositiveDuration = Annotated[float, BeforeValidator(_positive(parse_duration)), _unit_schema("20m")]
BytesValue = Annotated[int, BeforeValidator(parse_size), _unit_schema("8GiB")]


def value_type(axis: Axis) -> Any:
    if axis.kind == "choice":
        return Annotated[str, _choice(axis.choices, axis), _enum(axis.choices)]
    types = {
        "model": _ModelValue,
        "size": SizeValue,
        "count": CountValue,
        "rate": RateValue,
        "milliseconds": SloValue,
    }
    return types[axis.kind]


def _listed(value: object) -> object:
    if isinstance(value, dict):
        raise ValueError("must be a value or a list of values")
    if value == []:
        raise ValueError("must not be empty")
    return tuple(value) if isinstance(value, list) else (value,)


def _without_repeats(values: tuple[T, ...]) -> tuple[T, ...]:
    seen: set[T] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{value!r} appears twice")
        seen.add(value)
    return values


class ScalarToo:
    """Tells the JSON schema that a single value may stand for a list of one."""

    def __get_pydantic_json_schema__(self, core: Any, schema_of: Any) -> Any:
        listed = schema_of(core) | {"minItems": 1, "uniqueItems": True}
        return {"anyOf": [listed["items"], listed]}


class And:
    """Tells the JSON schema what a validator asks for beyond it."""

    def __init__(self, **rule: Any) -> None:
        self._rule = rule

    def __get_pydantic_json_schema__(self, core: Any, schema_of: Any) -> Any:
        return {"allOf": [schema_of(core), self._rule]}


Listed = Annotated[
    tuple[T, ...], BeforeValidator(_listed), AfterValidator(_without_repeats), ScalarToo()
]
"""One value or a list of values, none of them twice."""
