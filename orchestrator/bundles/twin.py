"""Whether an archive is, byte for byte, what writing its members anew would give."""

import zipfile
from pathlib import Path
from typing import IO

from orchestrator.bundles.archive import BROKEN, Member, pack


def is_its_own_twin(archive: zipfile.ZipFile, path: Path) -> bool:
    """Whether there is nothing in the file but its members as we write them.

    Checksums cover what members hold. This covers the rest: headers, directory, and whatever
    stands before, between or behind them.
    """
    members = {info.filename: Member(archive, info) for info in archive.infolist()}
    with path.open("rb") as file:
        twin = _Twin(file)
        try:
            pack(twin, members)
        except BROKEN:
            return False
        return twin.is_the_same()


class _Twin:
    """Takes an archive that is written, and compares it with one that lies there."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._other: set[int] = set()
        """Where something else was written; headers are written twice, at last with checksums."""

    def write(self, data: bytes, /) -> int:
        """Compare them with those at this place."""
        place = self._file.tell()
        differs = self._other.discard if self._file.read(len(data)) == data else self._other.add
        differs(place)
        self._file.seek(place + len(data))
        return len(data)

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Go on elsewhere."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """Where it goes on."""
        return self._file.tell()

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The file belongs to others."""

    def is_the_same(self) -> bool:
        """Whether all that was written lies there, and nothing behind it."""
        return not self._other and not self._file.read(1)
