"""A release as `noisegate release` wrote it: its tables by cell number, from their Parquet or CSV files, and its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.margins import Method
from noisegate.mechanisms import Known, Marker, Threshold, Zeros, known_mechanism
from noisegate.reading import Codes, read_rows
from noisegate.tables import (
    CARD,
    Card,
    Counts,
    Domain,
    Ints,
    Margin,
    Origin,
    Release,
    StatedTable,
    Table,
    read_document,
)

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
    card = read_own_card(folder)
    return assemble(card, lambda stated, domain: _cells(folder, stated, domain), folder=folder)


def assemble(
    card: Card, rows: Callable[[StatedTable, Domain], tuple[Ints, Counts]], /, *, folder: Path | None = None
) -> Release:
    """The release that a complete card describes; `rows` gives the published cells of a table, ascending, and their values.

    Raises
    ------
    DataError
        If the card cannot be used, or a table is not as it describes it.
    """
    try:
        domain = card.build_domain()
        margins = {
            stated.name: Margin.over(domain, stated.dimensions) for stated in card.tables if not stated.base
        }
        known = {stated.name: _known(card, stated) for stated in card.tables}
    except SpecError as problem:
        raise DataError(f"The card in {folder or 'hand'} cannot be used: {problem}") from None
    tables = []
    for stated in sorted(card.tables, key=lambda one: not one.base):
        margin = margins.get(stated.name)
        cells, values = rows(stated, domain if margin is None else margin.domain)
        tables.append(
            Table(
                name=stated.name,
                domain=domain if margin is None else margin.domain,
                margin=margin,
                cells=cells,
                values=values,
                threshold=_threshold(stated),
                absent=_absent(card, stated),
                mechanism=known[stated.name],
                origin=_origin(card, stated),
            )
        )
    _check_complete(tables[0], card)
    return Release(tables=tuple(tables), card=card, folder=folder)


def _known(card: Card, stated: StatedTable, /) -> Known | None:
    """The mechanism of a table's own noise; None if it is only summed."""
    if stated.noise is None:
        return None
    return known_mechanism(
        stated.noise.law,
        scale=stated.noise.scale,
        threshold=None if stated.threshold is None else int(stated.threshold),
        zeros=cast("Zeros", card.zeros),
        source="card",
    )


def _threshold(stated: StatedTable, /) -> Threshold:
    if stated.threshold is None:
        return Threshold(value=None, rule=None, cut=None, sure=1.0, evidence="the card says so")
    value = int(stated.threshold)
    return Threshold(value=value, rule="ge", cut="after", sure=1.0, evidence="the card says so")


def _absent(card: Card, stated: StatedTable, /) -> Marker | None:
    """What a missing row means: a value below the threshold, or nothing at all."""
    if stated.threshold is not None:
        return Marker(text="", high=int(stated.threshold) - 1, cause="primary")
    # A zero that is kept is not listed, and neither is a noisy value of zero.
    return Marker(text="", high=0) if card.zeros == "keep" or not stated.base else None


def _origin(card: Card, stated: StatedTable, /) -> Origin:
    if card.margins == "reconcile":
        return "estimate"
    return "measured" if stated.noise is not None else "summed"


def _check_complete(base: Table, card: Card, /) -> None:
    if base.threshold.value is None and card.zeros == "perturb" and base.suppressed:
        raise DataError(f"table {base.name!r} lacks rows, although its card says that nothing was left out.")


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
