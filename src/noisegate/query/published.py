"""The published values of a table by cell number, from its Parquet or CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.query.statement import StatedTable
from noisegate.tables.dimension import Dimension
from noisegate.tables.domain import Ints

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A published table: its values by cell, and which cells have one."""

    table: StatedTable
    values: Ints
    shown: Bools


def read_values(folder: Path, table: StatedTable, /) -> tuple[Ints, Bools]:
    """For each cell of the table its published value (0 where there is none), and whether it has one."""
    if table.domain.size > limits.current().query_cells:
        raise DataError(
            f"table {table.name!r} has {table.domain.size:,} cells; a query holds at most {limits.current().query_cells:,} in memory."
        )
    rows = _rows(folder, table)
    codes = [_codes(rows.column(d.name), d, table.name) for d in table.domain.dimensions]
    cells = table.domain.encode(*codes)
    if (cells < 0).any() or np.unique(cells).size != cells.size:
        raise DataError(f"table {table.name!r} has rows that are not cells of its card, or has one twice.")
    values = np.zeros(table.domain.size, np.int64)
    shown = np.zeros(table.domain.size, bool)
    values[cells] = rows.column("count").to_numpy()
    shown[cells] = True
    if table.margin is None and table.least is None and table.zeros == "perturb" and not shown.all():
        raise DataError(f"table {table.name!r} lacks rows, although its card says that nothing was left out.")
    return values, shown


def _rows(folder: Path, table: StatedTable, /) -> Any:
    names = [*table.domain.names, "count"]
    parquet, csv = folder / f"{table.name}.parquet", folder / f"{table.name}.csv"
    try:
        if parquet.exists():
            rows = pq.read_table(parquet, columns=names)
        else:
            types = dict.fromkeys(table.domain.names, pa.dictionary(pa.int32(), pa.string()))
            rows = pa_csv.read_csv(
                csv,
                parse_options=pa_csv.ParseOptions(newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    column_types={**types, "count": pa.int64()},
                    include_columns=names,
                    strings_can_be_null=False,
                ),
            )
    except FileNotFoundError:
        raise DataError(
            f"{folder} has neither {parquet.name} nor {csv.name}, which its card describes."
        ) from None
    except (OSError, pa.ArrowException, KeyError):
        raise DataError(
            f"table {table.name!r} in {folder} cannot be read as its card describes it."
        ) from None
    if rows.schema.field("count").type != pa.int64() or rows.column("count").null_count:
        raise DataError(f"table {table.name!r} in {folder} has counts that are not whole numbers.")
    return rows


def _codes(column: Any, dimension: Dimension, table: str, /) -> Ints:
    """The label code of each row."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(pc.cast(column, pa.string()))
    known = {label: code for code, label in enumerate(dimension.labels)}
    parts = [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        labels = chunk.dictionary.to_pylist()
        place = np.array([known.get(str(label), -1) for label in labels] or [-1], dtype=np.int64)
        parts.append(place[np.asarray(chunk.indices.to_numpy(zero_copy_only=False), dtype=np.int64)])
    codes = np.concatenate(parts)
    if (codes < 0).any():
        raise DataError(f"table {table!r} has a value of {dimension.name} that its card does not list.")
    return codes
