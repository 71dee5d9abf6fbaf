"""Tables that lie beside their card are read as it says; all others by looking at them.

A card lists the dimensions of every table and the labels of every dimension, so nothing about its files has to be guessed: not the
layout, nor which column counts, nor what is a total. Files that are not as their card says are read like any other.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from noisegate.errors import DataError, SpecError, is_interrupt
from noisegate.mechanisms import Known, Marker, Threshold, Zeros, known_mechanism
from noisegate.reading.overrides import Overrides
from noisegate.reading.published import (
    Codes,
    Ints,
    PublishedTable,
    describe,
    has_twice,
    row_ids,
    table_files,
    table_name,
)
from noisegate.reading.reader import TableSources, read_sources
from noisegate.reading.structure import Structure, find_structure, place_on_card
from noisegate.tables import (
    CARD,
    RELEASE_FILES,
    Card,
    Counts,
    Dimension,
    Domain,
    Margin,
    Origin,
    Release,
    StatedTable,
    Table,
    find_card,
)

Progress = Callable[[str], None]
#: A count as files of ours have it, within 64 bits.
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def read_structure(
    sources: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    card: Path | None = None,
    progress: Progress | None = None,
) -> Structure:
    """The tables in files and frames and how they hang together, with their card if one was named or lies beside them.

    Raises
    ------
    DataError, SpecError
        If they cannot be read, or do not hang together; see `read_table` and `find_structure`.
    """
    report = progress or (lambda _: None)
    sources = _of_release(sources)
    files = _files(sources)
    if overrides is None and files and all(map(Path.is_file, files)):
        stated = find_card(card, files)
        found = None if stated is None else _by_card(files, stated, report)
        if found is not None:
            return found
    read = read_sources(sources, overrides=overrides, progress=report)
    named = [file for table in read.tables for file in table.files]
    stated = find_card(card, named)
    report("finding the structure")
    return find_structure(
        read.tables, overrides=overrides, card=stated, lookups=read.lookups, left_out=read.left_out
    )


def _of_release(sources: TableSources, /) -> TableSources:
    """The tables alone, each once, where files of a release are named with its card, as a shell does for `release/*`."""
    if not isinstance(sources, Sequence) or isinstance(sources, str):
        return sources
    named = [Path(one) for one in sources if isinstance(one, str | os.PathLike)]
    if len(named) < len(sources) or CARD not in {one.name for one in named}:
        return sources
    tables = [one for one in named if one.suffix in {".csv", ".parquet"}]
    others = {one.name for one in named} - {one.name for one in tables}
    if not tables or not others <= RELEASE_FILES:
        return sources
    csv = {one.with_suffix("") for one in tables if one.suffix == ".csv"}
    return [one for one in tables if one.suffix == ".csv" or one.with_suffix("") not in csv]


def _files(sources: TableSources, /) -> list[Path]:
    """The files, where nothing but files is given, each under its own name."""
    listed = sources if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    paths = [Path(one) for one in listed if isinstance(one, str | os.PathLike)]
    if len(paths) < len(listed):
        return []
    try:
        return [file for path in paths for file in table_files(path)]
    except DataError:
        return []


def _by_card(files: Sequence[Path], card: Card, report: Progress, /) -> Structure | None:
    """The tables as a card of ours describes them; None where it is not, or they are not."""
    stated = {table.name: table for table in card.tables}
    names = [table_name(file) for file in files]
    if (
        not card.complete
        or not {file.suffix for file in files} <= {".csv", ".parquet"}
        or len(set(names)) < len(names)
        or not set(names) <= set(stated)
        or not any(stated[name].base for name in names)
    ):
        return None
    try:
        dimensions = {one.name: one for one in describe(card.build_domain()).dimensions}
        tables = []
        for file, name in zip(files, names, strict=True):
            report(f"reading {file.name}")
            tables.append(_table(file, stated[name], dimensions))
        report("finding the structure")
        base = next(table for table in tables if stated[table.name].base)
        return place_on_card(base, [table for table in tables if table is not base], card)
    except (DataError, SpecError):
        return None


def _table(file: Path, stated: StatedTable, dimensions: Mapping[str, Dimension], /) -> PublishedTable:
    own = tuple(dimensions[name] for name in stated.dimensions if name in dimensions)
    codes, counts = read_rows(file, stated, own)
    if len(own) < len(stated.dimensions) or has_twice(row_ids(codes, tuple(one.size for one in own))):
        raise DataError(f"{file} is not as its card describes it.")
    return PublishedTable(
        name=stated.name,
        sources=(file,),
        dimensions=own,
        codes=codes,
        counts=counts,
        hidden=np.zeros((len(own), 0), np.int32),
        dialect="CSV with commas, utf-8" if file.suffix == ".csv" else "Parquet",
    )


def read_rows(file: Path, stated: StatedTable, dimensions: Sequence[Dimension], /) -> tuple[Codes, Ints]:
    """The label codes of each row of a file that a card describes, and its counts.

    Raises
    ------
    DataError
        If the file is not as the card describes it.
    FileNotFoundError
        If there is none.
    """
    if not file.is_file():
        raise FileNotFoundError(file)
    import duckdb

    from noisegate.columns import own_duckdb

    try:
        with own_duckdb() as connection:
            relation = connection.sql(_rows_sql(file))
            texts, counts = _read(relation, stated, file)
    except (duckdb.Error, OSError, RuntimeError, UnicodeError, csv.Error, StopIteration) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise DataError(
            f"table {stated.name!r} in {file.parent} cannot be read as its card describes it."
        ) from None
    codes = np.empty((len(dimensions), counts.size), np.int32)
    for out, one in zip(codes, dimensions, strict=True):
        _write_codes(out, texts[one.name], one, stated.name)
    return codes, counts


def _rows_sql(file: Path, /) -> str:
    """SQL for the rows of a table: of a CSV file every value as text, and every line must be a row."""
    from noisegate.columns import literal

    path = literal(glob.escape(str(file)))
    if file.suffix == ".parquet":
        return f"FROM read_parquet([{path}])"
    with file.open(encoding="utf-8", newline="") as opened:
        header = next(csv.reader(opened, strict=True))
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
    return (
        f"FROM read_csv([{path}], auto_detect = false, header = true, columns = {{{columns}}}, delim = ',', quote = '\"', escape = '\"', "
        "strict_mode = true, null_padding = false)"
    )


def _read(
    relation: Any, stated: StatedTable, file: Path, /
) -> tuple[dict[str, tuple[Codes, list[str]]], Ints]:
    """The texts of each dimension, numbered, and the counts."""
    from noisegate.columns import CodedTexts, batches, concatenated, kinds_of, numbers, text_sql

    kinds, names = kinds_of(relation), [*stated.dimensions, "count"]
    if not set(names) <= set(kinds):
        raise DataError(f"table {stated.name!r} in {file.parent} lacks a column that its card lists.")
    packed = kinds["count"] == "BIGINT"
    texts, counts = CodedTexts(len(names) - packed), []
    select = [
        *(text_sql(name, kinds[name]) for name in stated.dimensions),
        "count" if packed else "coalesce(count, '')",
    ]
    for batch in batches(
        relation.project(", ".join(f"{sql} AS c{place}" for place, sql in enumerate(select)))
    ):
        texts.add(batch)
        if packed:
            counts.append(_without_gaps(numbers, batch.column(len(names) - 1), stated, file))
    found = {name: texts.column(place) for place, name in enumerate(stated.dimensions)}
    if packed:
        return found, concatenated(counts, np.int64)
    codes, labels = texts.column(len(names) - 1)
    if kinds["count"] != "VARCHAR" or not all(map(_WHOLE.fullmatch, labels)):
        raise _no_whole_numbers(stated, file)
    return found, np.array([int(label) for label in labels] or [0], np.int64)[codes]


def _without_gaps(numbers: Callable[[Any], Ints], column: Any, stated: StatedTable, file: Path, /) -> Ints:
    if column.null_count:
        raise _no_whole_numbers(stated, file)
    return numbers(column)


def _no_whole_numbers(stated: StatedTable, file: Path, /) -> DataError:
    return DataError(f"table {stated.name!r} in {file.parent} has counts that are not whole numbers.")


def _write_codes(out: Codes, column: tuple[Codes, list[str]], dimension: Dimension, table: str, /) -> None:
    """Write the label code of each row."""
    codes, labels = column
    known = {label: code for code, label in enumerate(dimension.labels)}
    np.take(np.array([known.get(label, -1) for label in labels] or [-1], np.int32), codes, out=out)
    if out.min(initial=0) < 0:
        raise DataError(f"table {table!r} has a value of {dimension.name} that its card does not list.")


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
