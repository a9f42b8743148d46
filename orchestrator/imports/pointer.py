"""Places in a JSON file, as JSON pointers."""

WHOLE = "/"


def under(place: str, *keys: object) -> str:
    """The place of a value below another one."""
    steps = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "/".join(("" if place == WHOLE else place, *steps))


def last(place: str) -> str:
    """The key or index at the end of a place."""
    return place.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")
