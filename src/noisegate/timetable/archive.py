"""The files of a feed, from a folder or from a zip that nobody need trust.

Only the tables that are read are unpacked, under names of our own, into a private directory that is gone
afterwards; nothing is ever written elsewhere. Sizes are limited by what an archive declares and again by what
comes out of it.
"""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from noisegate import limits
from noisegate.errors import DataError

REQUIRED = ("routes.txt", "stop_times.txt", "stops.txt", "trips.txt")
OPTIONAL = ("agency.txt", "calendar.txt", "calendar_dates.txt", "frequencies.txt")

_PIECE = 1 << 20
_ENCRYPTED = 0x1
_UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def feed_files(path: Path, /) -> Iterator[dict[str, Path]]:
    """The tables of the feed at `path` by name, each as a plain file, for as long as the context lasts."""
    if not path.exists():
        raise DataError(f"The feed {str(path)!r} does not exist; give a GTFS zip or folder.")
    if path.is_dir():
        found = {name: path / name for name in (*REQUIRED, *OPTIONAL) if (path / name).is_file()}
        _check_complete(path, found)
        for name, file in found.items():
            _check_size(path, name, file.stat().st_size)
        with _private_directory(path) as place:
            yield {name: _linked(file, place) for name, file in found.items()}
        return
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise DataError(f"{str(path)!r} is neither a zip nor a folder; give a GTFS feed.")
    with _private_directory(path) as place:
        try:
            files = _unpacked(path, place)
        except _UNREADABLE as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"The feed {str(path)!r} cannot be unpacked: {_reason(error)}.") from error
        yield files


@contextmanager
def _private_directory(path: Path, /) -> Iterator[Path]:
    """A directory that only we can read, gone at the end."""
    try:
        place = tempfile.TemporaryDirectory(prefix="noisegate-feed-")
    except OSError as error:
        raise DataError(
            f"There is no place to unpack the feed {str(path)!r} in: {error.strerror}. Set TMPDIR to one."
        ) from error
    with place as name:
        yield Path(name)


def _linked(file: Path, place: Path, /) -> Path:
    """A link with a plain name: the engine takes stars and brackets in a path for patterns."""
    link = place / file.name
    link.symlink_to(file.resolve())
    return link


def _unpacked(path: Path, place: Path, /) -> dict[str, Path]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > limits.current().feed_entries:
            raise DataError(
                f"The feed {str(path)!r} has {len(entries)} entries, at most {limits.current().feed_entries} are allowed."
            )
        for entry in entries:
            _check_entry(path, entry)
        chosen = _choose(path, [entry for entry in entries if not entry.is_dir()])
        _check_complete(path, chosen)
        for name, entry in chosen.items():
            _check_size(path, name, entry.file_size, packed=entry.compress_size)
        for name, entry in chosen.items():
            _unpack(archive, entry, place / name)
    return {name: place / name for name in chosen}


def _check_entry(path: Path, entry: zipfile.ZipInfo, /) -> None:
    """Refuse an entry that no honest feed has."""
    parts = PurePosixPath(entry.filename.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in entry.filename[:2]:
        raise DataError(f"The feed {str(path)!r} has an entry that points out of it; do not use it.")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DataError(f"The feed {str(path)!r} has an entry that is a link; do not use it.")
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(f"The feed {str(path)!r} is encrypted; decrypt it first.")


def _choose(path: Path, entries: list[zipfile.ZipInfo], /) -> dict[str, zipfile.ZipInfo]:
    """The tables in the outermost folder that has stop_times.txt."""
    homes = [
        PurePosixPath(e.filename).parent
        for e in entries
        if PurePosixPath(e.filename).name == "stop_times.txt"
    ]
    homes = [home for home in homes if "__MACOSX" not in home.parts]
    if not homes:
        if any(entry.filename.lower().endswith(".zip") for entry in entries):
            raise DataError(
                f"The feed {str(path)!r} holds other zips and no tables; unpack it and give one of them."
            )
        raise DataError(f"{str(path)!r} is not a GTFS feed: it has no stop_times.txt.")
    depth = min(len(home.parts) for home in homes)
    outermost = [home for home in homes if len(home.parts) == depth]
    if len(outermost) > 1:
        raise DataError(f"The feed {str(path)!r} has more than one stop_times.txt; give one feed at a time.")
    wanted = {str(outermost[0] / name): name for name in (*REQUIRED, *OPTIONAL)}
    chosen: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = wanted.get(str(PurePosixPath(entry.filename)))
        if name is not None and name in chosen:
            raise DataError(f"The feed {str(path)!r} has {name} twice; do not use it.")
        if name is not None:
            chosen[name] = entry
    return chosen


def _check_complete(path: Path, found: dict[str, Path] | dict[str, zipfile.ZipInfo], /) -> None:
    for name in REQUIRED:
        if name not in found:
            raise DataError(f"{str(path)!r} is not a GTFS feed: it has no {name}.")
    if not {"calendar.txt", "calendar_dates.txt"} & set(found):
        raise DataError(
            f"{str(path)!r} is not a GTFS feed: it has neither calendar.txt nor calendar_dates.txt."
        )


def _check_size(path: Path, name: str, size: int, /, *, packed: int | None = None) -> None:
    if size > limits.current().feed_file_bytes:
        raise DataError(
            f"{name} of the feed {str(path)!r} is too large: {size >> 20} MiB, at most {limits.current().feed_file_bytes >> 20} are "
            "read. Cut the feed to fewer routes."
        )
    if (
        packed is not None
        and size > limits.current().feed_small_bytes
        and size > limits.current().feed_ratio * max(packed, 1)
    ):
        raise DataError(
            f"{name} of the feed {str(path)!r} unpacks to more than {limits.current().feed_ratio:g} times its size; do not use it."
        )


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, /) -> None:
    """One table as a file, with the size that it really has checked as it grows."""
    size = 0
    with archive.open(entry) as packed, target.open("xb") as file:
        while piece := packed.read(_PIECE):
            size += len(piece)
            _check_size(Path(str(archive.filename)), target.name, size, packed=entry.compress_size)
            file.write(piece)


def _reason(error: BaseException, /) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0][:200].rstrip(".")
