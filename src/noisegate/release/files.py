"""The files of a release: written to a staging directory, renamed into place at once.

Each table is written as CSV and as Parquet, dimension columns and `count`, in the order of the
public domain, so the order of rows says nothing about the events.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from noisegate.core.domain import Domain
from noisegate.core.perturb import PublishedCells
from noisegate.errors import OutputError

#: What every file of a release is called, but for the tables.
CARD, CARD_TEXT = "card.json", "CARD.md"


def check_output(folder: Path, /) -> None:
    """Refuse a place that exists or cannot be written, before anything is done."""
    if folder.exists() or folder.is_symlink():
        raise OutputError(
            f"the output directory {folder} exists already; choose a new one, a release is never changed."
        )
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise OutputError(f"there is no directory {parent} to put the release in; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"the directory {parent} cannot be written; choose another place.")


@contextmanager
def staged(staging: Path, folder: Path, /) -> Iterator[Path]:
    """A directory to write into that becomes `folder` when all is well and disappears otherwise."""
    try:
        staging.mkdir()
    except OSError as problem:
        raise OutputError(f"cannot make {staging}: {problem.strerror or 'unknown reason'}.") from None
    try:
        yield staging
        for path in staging.iterdir():
            _flush(path)
        _flush(staging)
        _rename(staging, folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    _flush(folder.resolve().parent)


def write_table(folder: Path, name: str, domain: Domain, published: PublishedCells, /) -> None:
    """Write one table as CSV and Parquet."""
    columns: dict[str, Any] = {}
    for dimension, codes in zip(domain.dimensions, domain.decode(published.cells), strict=True):
        labels = pa.array(dimension.labels, pa.string())
        columns[dimension.name] = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)
    columns["count"] = pa.array(published.values)
    table = pa.table(columns)
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    # DuckDB writes CSV on all cores and quotes only what needs it.
    with duckdb.connect() as connection:
        connection.register("published", table)
        connection.execute("COPY published TO ? (FORMAT csv, HEADER)", [str(folder / f"{name}.csv")])


def write_card(folder: Path, card: Mapping[str, Any], text: str, /) -> bytes:
    """Write the card in both forms and return the bytes of card.json."""
    content = (json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    (folder / CARD).write_bytes(content)
    (folder / CARD_TEXT).write_text(text, encoding="utf-8")
    return content


def _rename(staging: Path, folder: Path, /) -> None:
    try:
        staging.rename(folder)
    except OSError as problem:
        raise OutputError(
            f"cannot put the release in place at {folder}: {problem.strerror or 'unknown reason'}."
        ) from None


def _flush(path: Path, /) -> None:
    """Make sure that a file or directory is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
