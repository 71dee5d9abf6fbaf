"""Packed octets: Zstandard, of Python itself from 3.14 on, and files that are packed in one of the usual ways."""

from __future__ import annotations

import bz2
import gzip
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

#: What goes wrong where a file is damaged, or packed in another way than it says.
PACKING_ERRORS = (OSError, EOFError, ValueError, zlib.error)


def zstandard() -> Any:
    """The module that packs and unpacks by Zstandard."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def unpacked(path: Path, how: str | None, /) -> BinaryIO:
    """The octets of a file, opened: as it is, or packed by gzip, bz2 or zstd.

    What is damaged raises one of `PACKING_ERRORS`, here or when it is read.
    """
    if how == "gzip":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if how == "bz2":
        return cast("BinaryIO", bz2.open(path, "rb"))
    if how == "zstd":
        return cast("BinaryIO", _Zstandard(zstandard().open(path, "rb")))
    return path.open("rb")


class _Zstandard:
    """A file packed by Zstandard, whose errors are those of a damaged file."""

    def __init__(self, file: Any, /) -> None:
        self._file = file

    def __getattr__(self, name: str, /) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1, /) -> bytes:
        """So many octets, unpacked."""
        try:
            return cast("bytes", self._file.read(size))
        except zstandard().ZstdError as error:
            raise OSError(str(error)) from error
