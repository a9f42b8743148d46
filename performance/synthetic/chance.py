"""Chance in SQL: the same seed, row and stream always draw the same number.

Rows have a column `key`, a whole number that is `STREAMS` away from the next row's, so that
streams below that belong to one row alone.
"""

STREAMS = 1024


def uniform(stream: int, key: str = "key") -> str:
    """A number between 0 and 1, both left out."""
    return f"(((hash({key} + {stream}) >> 11) + 0.5) / 9007199254740992.0)"


def spread(stream: int, deviation: float) -> str:
    """A factor around 1, log-normal."""
    return f"exp({deviation} * {normal(f'hash(key + {stream})')})"


def normal(bits: str) -> str:
    """A number of mean 0 and deviation 1 from a hash's lower 48 bits: three uniform ones added."""
    return (
        f"((({bits} & 65535) + (({bits} >> 16) & 65535) + (({bits} >> 32) & 65535))"
        " / 32768.0 - 3.0)"
    )


def rest(bits: str) -> str:
    """A number between 0 and 1 from the hash's 16 bits that `normal` leaves."""
    return f"((({bits} >> 48) + 0.5) / 65536.0)"
