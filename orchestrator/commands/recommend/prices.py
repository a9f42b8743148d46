"""Prices of machines by the hour, as a file lists them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, PositiveFloat, ValidationError

from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Problem, problems_in, raise_problems, read_source
from runner.contract.axes import Backend
from runner.contract.cell import Frozen
from runner.contract.errors import suggest

_HINT = (
    "a file of prices is for example `{currency: EUR, backends: {cpu: {per_hour: 0.10}}}`;"
    " under hardware, prices go by the devices' names that `orchestrator query hardware_info` shows"
)


class Price(Frozen):
    """The price of one device."""

    model_config = ConfigDict(strict=True)

    per_hour: Annotated[PositiveFloat, Field(allow_inf_nan=False)]


class PriceList(Frozen):
    """The prices of devices, by their names and by backends."""

    model_config = ConfigDict(strict=True)

    currency: Annotated[str, Field(min_length=1, max_length=10)]
    """The currency of all prices, e.g. EUR; it is printed and never converted."""
    hardware: dict[str, Price] = Field(default_factory=dict)
    """Prices by a device's name; they go before those of its backend."""
    backends: dict[Backend, Price] = Field(default_factory=dict)

    def per_hour(self, names: Iterable[str], backend: Backend) -> float | None:
        """The price of a device of any of these names for an hour; None where the file has none."""
        known = {name.casefold(): price for name, price in self.hardware.items()}
        own = (known.get(name.casefold()) for name in names)
        price = next(filter(None, own), None) or self.backends.get(backend)
        return price.per_hour if price else None

    def unused(self, names: Sequence[str]) -> list[str]:
        known = {name.casefold() for name in names}
        return [
            f"hardware {name!r} is none of the devices here{suggest(name, names)}"
            for name in self.hardware
            if name.casefold() not in known
        ]


def read_prices(path: Path) -> PriceList:
    def keys_at(location: Location) -> Iterable[str]:
        return Price.model_fields if len(location) == 2 else PriceList.model_fields

    source = read_source(path)
    if source.data is None:
        raise_problems(source, [Problem((), "is empty")], _HINT)
    try:
        prices = PriceList.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, problems_in(error, keys_at), _HINT)
        raise
    if not (prices.hardware or prices.backends):
        raise_problems(source, [Problem((), "holds no price: name hardware or backends")], _HINT)
    return prices
