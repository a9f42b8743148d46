"""Models that take turns: each night a share of them, until all of them are measured."""

import hashlib
import re
from dataclasses import dataclass

from runner.contract.errors import UsageError

_SHARE = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})", re.ASCII)


@dataclass(frozen=True)
class Share:
    """One of several shares of all models; a model stays in its share whatever joins the matrix."""

    number: int
    """From 1."""
    shares: int

    def keeps(self, model: str) -> bool:
        """True if that model is in this share."""
        digest = hashlib.sha256(model.encode()).digest()
        return int.from_bytes(digest[:8]) % self.shares == self.number - 1


EVERYTHING = Share(1, 1)


def share_of_models(text: str | None) -> Share:
    """The share in the words of `--share`, `NUMBER/SHARES`; all of it for None."""
    if text is None:
        return EVERYTHING
    parts = _SHARE.fullmatch(text)
    if parts is None or int(parts[1]) > int(parts[2]):
        raise UsageError(
            f"--share: {text!r} is not NUMBER/SHARES with a number from 1 to that of shares",
            hint="e.g. --share 3/7 on the third of seven nights",
        )
    return Share(int(parts[1]), int(parts[2]))
