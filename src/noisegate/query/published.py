"""A release as `noisegate release` wrote it: its tables by cell number, from their Parquet or CSV files, and its card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.margins import Method
from noisegate.tables import (
    CARD,
    Card,
    Domain,
    Ints,
    Release,
    StatedTable,
    read_document,
)

if TYPE_CHECKING:
    from noisegate.reading import Codes

_NO_CARD = (
    "Only a card says how the noise was made. For tables of other makers, 'noisegate assess TABLE...' recovers "
    "the noise and bounds every cell."
)


def read_own_card(folder: Path, /) -> Card:
    """The card in `folder`, with all that its tables need to be read.

    Raises
    ------
    DataError
        If there is none, or it is not the card of a release of ours.
    """
    if not folder.is_dir():
        raise DataError(
            f"There is no directory {str(folder)!r}; give the directory that 'noisegate release' made."
        )
    path = folder / CARD
    if not path.exists():
        raise DataError(f"The directory {str(folder)!r} has no {CARD}. {_NO_CARD}")
    try:
        document = read_document(path)
    except DataError:
        raise DataError(f"{path} cannot be read as JSON. {_NO_CARD}") from None
    software = document.get("software")
    if not isinstance(software, dict) or software.get("name") != "noisegate":
        raise DataError(f"{path} is not the card of a noisegate release. {_NO_CARD}")
    try:
        card = replace(Card.read(document), path=path)
    except DataError:
        card = None
    if card is None or not card.complete:
        raise DataError(
            f"The card in {folder} lacks what a query needs, or has it in another form. {_NO_CARD}"
        )
    if card.margins not in get_args(Method):
        refusal = SpecError.for_choice("margins", found=card.margins, allowed=get_args(Method))
        raise DataError(f"The card in {folder} cannot be used: {refusal}")
    return card


def read_release(folder: Path, /) -> Release:
    """The release in `folder`: its tables, the base first, and its card.

    Raises
    ------
    DataError
        If there is no card of ours, or a table is missing or not as the card describes it.
    """
    from noisegate.reading import assemble

    card = read_own_card(folder)
    return assemble(card, lambda stated, domain: _cells(folder, stated, domain), folder=folder)


def _cells(folder: Path, stated: StatedTable, domain: Domain, /) -> tuple[Ints, Ints]:
    """The published cells of a table in ascending order, and their values."""
    most = limits.current().query_cells
    if domain.size > most:
        raise DataError(
            f"table {stated.name!r} has {domain.size:,} cells; a query holds at most {most:,} in memory."
        )
    codes, values = _rows(folder, stated, domain)
    cells = domain.encode(*codes.astype(np.int64))
    if cells.size > 1 and not (np.diff(cells) > 0).all():
        order = np.argsort(cells, kind="stable")
        cells, values = cells[order], values[order]
    if (cells < 0).any() or (np.diff(cells) == 0).any():
        raise DataError(f"table {stated.name!r} has rows that are not cells of its card, or has one twice.")
    return cells, values


def _rows(folder: Path, table: StatedTable, domain: Domain, /) -> tuple[Codes, Ints]:
    from noisegate.reading import read_rows

    if Path(table.name).name != table.name:
        raise DataError(
            f"the card in {folder} names a table {table.name!r}, which cannot be the name of a file."
        )
    parquet, csv = folder / f"{table.name}.parquet", folder / f"{table.name}.csv"
    try:
        return read_rows(parquet if parquet.exists() else csv, table, domain.dimensions)
    except FileNotFoundError:
        raise DataError(
            f"{folder} has neither {parquet.name} nor {csv.name}, which its card describes."
        ) from None
