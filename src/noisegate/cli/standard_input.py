"""A table from standard input: `-` in place of a file."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from noisegate import limits
from noisegate.errors import DataError
from noisegate.places import STANDARD_OUTPUT

#: How files start that are no text, and how they are called then.
_STARTS = {b"PAR1": "stdin.parquet", b"PK\x03\x04": "stdin.xlsx"}
_BLOCK = 1 << 20


@contextmanager
def with_standard_input(tables: Sequence[Path], /) -> Iterator[list[Path]]:
    """The tables, what came by standard input in a private file in place of `-`.

    Raises
    ------
    DataError
        If nothing came, or too much, or `-` stands there twice.
    """
    asked = [one for one in tables if one == STANDARD_OUTPUT]
    if not asked:
        yield list(tables)
        return
    if len(asked) > 1:
        raise DataError("- names standard input, which can be read once; name other tables by their files.")
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder:
        path = _kept(Path(folder))
        yield [path if one == STANDARD_OUTPUT else one for one in tables]


def _kept(folder: Path, /) -> Path:
    most, held = limits.current().upload_bytes, 0
    path = folder / "stdin"
    start = b""
    with path.open("wb") as file:
        while block := sys.stdin.buffer.read(_BLOCK):
            start, held = start or block[:4], held + len(block)
            if held > most:
                raise DataError(f"Standard input is longer than {most >> 20} MiB; name a file.")
            file.write(block)
    if not held:
        raise DataError("Nothing came by standard input; a table is needed, or name a file.")
    return path.rename(folder / _STARTS.get(start, "stdin.csv"))
