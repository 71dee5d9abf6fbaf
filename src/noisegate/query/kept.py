"""What was worked out of a release, kept for the next question in private files of the user.

A file is known by a digest of all that its content follows from: every file of the release that is read, the code of this
package, the libraries that compute, and the limits in force. So nothing stale is ever found: after any change the key is another one. It stands in the file too, with
what the file holds, and both are compared; whatever else is wrong with a file, it is worked out anew.

Files lie in `$NOISEGATE_CACHE`, or in `noisegate` under `$XDG_CACHE_HOME` or `~/.cache`, never in the release; only this user can
read them, and a file or folder that somebody else owns or can write is not touched. `NOISEGATE_CACHE=off` keeps nothing. Arrays are mapped, not read, so that a
question pays for what it touches.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import os
import pickle  # only of our own types, from files that nobody else can write
import platform
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from noisegate import limits
from noisegate.tables import CARD, Domain

_PLACE, _OFF = "NOISEGATE_CACHE", "off"
_ENDING, _UNFINISHED = ".kept", ".new"
#: Seconds after which a file that was never finished was certainly left behind.
_ABANDONED_S = 3600
#: How a file begins; the number changes with the form.
_MAGIC = b"noisegate kept 1\n"
#: Where an array may begin.
_ALIGNED = 64
#: What beside our own classes the content is made of.
_PLAIN = frozenset(
    {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("builtins", "range"),
        ("builtins", "slice"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("pathlib", "PosixPath"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Where things about one release are kept: a private folder, and the key of what they follow from."""

    place: Path
    key: str
    release: Path

    @classmethod
    def of(cls, release: Path, /) -> Kept | None:
        """The place for a release; None if nothing is to be kept, or nothing can be."""
        place = _folder()
        if place is None or release.resolve() in (place.resolve(), *place.resolve().parents):
            return None
        try:
            key = _key(release)
        except OSError:
            return None
        return cls(place=place, key=key, release=release)

    def load(self, what: str, /) -> Any:
        """What was kept under this name, None if nothing was."""
        try:
            with _opened(self._file(what)) as file:
                os.utime(file.fileno())
                return _unpacked(file, {"key": self.key, "what": what})
        except (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError, ImportError):
            return None
        except pickle.UnpicklingError:
            return None

    def save(self, what: str, value: Any, /) -> bool:
        """Keep something for the next question, unless the release is no longer what it was; False if there is no room."""
        buffers: list[pickle.PickleBuffer] = []
        body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        raw = [one.raw() for one in buffers]
        most = limits.current().kept_megabytes << 20
        size = sum(len(one) + _ALIGNED for one in raw)
        with suppress(OSError):
            if size > most:
                return False
            if _key(self.release) != self.key:
                return True
            _make_room(self.place, size, most)
            with _new_file(self._file(what)) as file:
                _pack(file, {"key": self.key, "what": what}, body, raw)
        return True

    def _file(self, what: str, /) -> Path:
        name = hashlib.sha256(f"{self.key}\n{what}".encode()).hexdigest()[:40]
        return self.place / f"{name}{_ENDING}"


def _folder() -> Path | None:
    """The folder for this user alone; None if there is none."""
    named = os.environ.get(_PLACE, "")
    if named == _OFF:
        return None
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        default = (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "noisegate"
        folder = Path(named) if named else default
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = folder.lstat()
    except (OSError, RuntimeError):
        return None
    private = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022
    return folder if private else None


def _key(release: Path, /) -> str:
    """A digest of all that an answer follows from."""
    found = hashlib.sha256(_software().encode())
    found.update(repr(limits.current()).encode())
    for file in _read_files(release):
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        found.update(f"\n{file.name!r} {content}".encode())
    return found.hexdigest()


def _read_files(release: Path, /) -> list[Path]:
    """The card, and every file that may be a table of it: CSV only where there is no Parquet of the same name."""
    parquet = sorted(release.glob("*.parquet"))
    stems = {one.stem for one in parquet}
    return [
        release / CARD,
        *parquet,
        *(one for one in sorted(release.glob("*.csv")) if one.stem not in stems),
    ]


@cache
def _software() -> str:
    """A digest of the code that computes."""
    import numpy as np
    import scipy

    here = Path(__file__).parents[1]
    found = hashlib.sha256(
        f"{platform.python_version()} {platform.machine()} {np.__version__} {scipy.__version__}".encode()
    )
    for file in sorted(here.rglob("*.py")):
        found.update(f"{file.relative_to(here)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def _opened(path: Path, /) -> IO[bytes]:
    """A file that belongs to this user, and that nobody else can read."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    file = os.fdopen(number, "rb")
    about = os.fstat(number)
    if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077:
        return file
    file.close()
    raise ValueError("not a private file")


@contextmanager
def _new_file(path: Path, /) -> Iterator[IO[bytes]]:
    """A file for this user alone that is there when it is whole and on disk, not before."""
    draft = path.with_name(f"{secrets.token_hex(8)}{_UNFINISHED}")
    number = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _pack(file: IO[bytes], about: dict[str, Any], body: bytes, raw: list[memoryview], /) -> None:
    """Write a head, what is pickled, and the arrays beside it, each at an address that suits it."""
    sizes = [len(one) for one in raw]
    digest = hashlib.sha256(body).hexdigest()
    head = json.dumps({**about, "body": len(body), "digest": digest, "arrays": sizes}).encode()
    file.write(_MAGIC + len(head).to_bytes(8, "little") + head + body)
    for one in raw:
        file.write(bytes(-file.tell() % _ALIGNED))
        file.write(one)


def _unpacked(file: IO[bytes], about: dict[str, Any], /) -> Any:
    """What a file holds; its arrays are mapped, and what is changed in them is changed in memory alone."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("another form")
    length = int.from_bytes(file.read(8), "little")
    end = os.fstat(file.fileno()).st_size
    if not 0 < length <= end:
        raise ValueError("cut off")
    head = json.loads(file.read(length))
    body = file.read(int(head["body"]))
    if {name: head[name] for name in about} != about or hashlib.sha256(body).hexdigest() != head["digest"]:
        raise ValueError("something else")
    whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return _Reader(io.BytesIO(body), buffers=_arrays(whole, file.tell(), head["arrays"])).load()


def _arrays(whole: memoryview, start: int, sizes: list[int], /) -> list[memoryview]:
    found = []
    for size in sizes:
        start += -start % _ALIGNED
        found.append(whole[start : start + size])
        start += size
    if start != len(whole):
        raise ValueError("cut off, or longer than it says")
    return found


class _Reader(pickle.Unpickler):
    """Makes our own classes, arrays and plain values, and calls nothing else."""

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if (module, name) == ("builtins", "getattr"):
            return _method
        if module.partition(".")[0] == "noisegate":
            found = getattr(import_module(module), name, None)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that is kept")


def _method(owner: Any, name: str, /) -> Any:
    """The one method that evidence holds by itself: what numbers of cells mean."""
    if isinstance(owner, Domain) and name == "decode":
        return owner.decode
    raise pickle.UnpicklingError("a method that is not kept")


def _make_room(place: Path, size: int, most: int, /) -> None:
    """Remove what was never finished, and what was not asked for longest until so many bytes fit."""
    for one in place.glob(f"*{_UNFINISHED}"):
        if time.time() - one.stat().st_mtime > _ABANDONED_S:
            one.unlink(missing_ok=True)
    files = sorted(((one.stat(), one) for one in place.glob(f"*{_ENDING}")), key=lambda one: one[0].st_mtime)
    held = sum(about.st_size for about, _ in files)
    for about, file in files:
        if held + size <= most:
            return
        file.unlink(missing_ok=True)
        held -= about.st_size
