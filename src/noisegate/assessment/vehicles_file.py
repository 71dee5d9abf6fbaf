"""`vehicles.parquet`: every cell of the public domain that one vehicle alone can have produced, and which one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from noisegate.assessment.services import Services
from noisegate.recovery.couplings import published
from noisegate.tables.arrow import arrow_numbers, arrow_texts

#: What the file is called.
VEHICLES = "vehicles.parquet"
_OWN = ("published", "vehicle", "stop", "on_time")


def write_vehicle_cells(folder: Path, services: Services, /) -> None:
    """Write `vehicles.parquet`, one row for each cell that belongs to one vehicle within the tolerance.

    Its columns: the dimensions that a timetable speaks about; `published`, the count (null when suppressed, or if the table
    has other dimensions too); `vehicle` and `stop` (null for several); and `on_time`, whether it belongs to one
    vehicle as well if all run to the second.
    """
    found, roles, feed = services.alone(services.possible), services.roles, services.feed
    codes = np.unravel_index(found.cells, roles.sizes)
    columns = {
        _column(roles.dimension(role).name): pa.DictionaryArray.from_arrays(
            arrow_numbers(code.astype(np.int32)), arrow_texts(roles.labels(role))
        )
        for role, code in zip(roles.roles, codes, strict=True)
    }
    counts = _counts(services, codes)
    hidden = np.isnan(counts)
    columns["published"] = pa.array(np.where(hidden, 0, counts), mask=hidden)
    runs, which = np.unique(found.run, return_inverse=True)
    words = [feed.vehicle(services.visits, run) for run in runs.tolist()]
    columns["vehicle"] = pa.DictionaryArray.from_arrays(
        arrow_numbers(which.astype(np.int32)), arrow_texts(words)
    )
    stops = pa.array(np.maximum(found.stop, 0).astype(np.int32), mask=found.stop < 0)
    columns["stop"] = pa.DictionaryArray.from_arrays(stops, arrow_texts(feed.stops.names))
    columns["on_time"] = pa.array(np.isin(found.cells, services.alone(services.scheduled).cells))
    pq.write_table(pa.table(columns), folder / VEHICLES, compression="zstd")


def _counts(services: Services, codes: tuple[np.ndarray, ...], /) -> np.ndarray:
    """The published count of each cell; not-a-number where there is none."""
    roles, base = services.roles, services.base
    if set(roles.place.values()) != set(range(len(base.dimensions))) or not base.published:
        return np.full(codes[0].size, np.nan)
    rows = np.empty((len(base.dimensions), codes[0].size), dtype=np.int32)
    for role, code in zip(roles.roles, codes, strict=True):
        rows[roles.place[role]] = code
    return published(base, base.locate(rows))


def _column(name: str, /) -> str:
    """The name of a dimension's column; one called like a column of the file gets a line below its name."""
    return f"{name}_" if name in _OWN else name
