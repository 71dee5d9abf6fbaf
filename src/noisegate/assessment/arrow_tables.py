"""The tables that an assessment leaves: `cells.parquet`, what is known about every cell of the base, and `vehicles.parquet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisegate.assessment.inference import Inference
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.services import Services
from noisegate.inference import ENDLESS
from noisegate.recovery import published
from noisegate.tables import Table, arrow_numbers, arrow_texts

_ROWS_AT_ONCE = 1_000_000
_ESTIMATES = ("published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level")
_OWN = ("published", "vehicle", "stop", "on_time")


def cells_batches(found: Inference | KnownCounts, /) -> Iterator[pa.Table]:
    """The content of `cells.parquet`, some cells at a time.

    Its columns: the dimensions, the published count (null when suppressed), and the estimate; of counts that only have
    bounds these, at level 1, and no estimate where they differ.
    """
    cells, values, columns_of = _inferred(found) if isinstance(found, Inference) else _bounded(found)
    words = [arrow_texts(dimension.labels) for dimension in cells.dimensions]
    for start in range(0, cells.size, _ROWS_AT_ONCE):
        here = slice(start, min(start + _ROWS_AT_ONCE, cells.size))
        flat = np.arange(here.start, here.stop)
        columns = {
            _column(dimension.name, _ESTIMATES): pa.DictionaryArray.from_arrays(arrow_numbers(codes), text)
            for dimension, codes, text in zip(cells.dimensions, cells.codes(flat), words, strict=True)
        }
        hidden = np.isnan(values[here])
        shown = np.where(hidden, 0, values[here]).astype(np.int64)
        columns["published"] = pa.array(shown, mask=hidden)
        yield pa.table(columns | columns_of(here))


_Columns = Callable[[slice], dict[str, pa.Array]]


def _inferred(found: Inference, /) -> tuple[Table, NDArray[np.float64], _Columns]:
    posterior = found.posterior

    def columns(here: slice) -> dict[str, pa.Array]:
        return {
            "mean": arrow_numbers(posterior.mean[here]),
            "sd": arrow_numbers(posterior.sd[here]),
            "mode_count": arrow_numbers(posterior.mode[here]),
            "lo": arrow_numbers(posterior.low[here]),
            "hi": arrow_numbers(posterior.high[here]),
            "p_zero": arrow_numbers(posterior.p_zero[here]),
            "level": arrow_numbers(np.full(here.stop - here.start, posterior.level)),
        }

    return found.cells, found.evidence.base.values, columns


def _bounded(found: KnownCounts, /) -> tuple[Table, NDArray[np.float64], _Columns]:
    base = found.linked.tables[0]

    def columns(here: slice) -> dict[str, pa.Array]:
        low, high = found.bounds.low[here], found.bounds.high[here]
        open_, endless = low < high, high >= ENDLESS
        nobody = np.where(high == 0, 1.0, 0.0)
        return {
            "mean": pa.array(low.astype(np.float64), mask=open_),
            "sd": pa.array(np.zeros(low.size), mask=open_),
            "mode_count": pa.array(low, mask=open_),
            "lo": arrow_numbers(low),
            "hi": pa.array(np.where(endless, 0, high), mask=endless),
            "p_zero": pa.array(nobody, mask=(low == 0) & (high > 0)),
            "level": arrow_numbers(np.ones(low.size)),
        }

    return base, base.at(np.arange(base.size)), columns


def vehicles_table(services: Services, /) -> pa.Table:
    """The content of `vehicles.parquet`: one row for each cell that belongs to one vehicle within the tolerance.

    Its columns: the dimensions that a timetable speaks about; `published`, the count (null when suppressed, or if the table
    has other dimensions too); `vehicle` and `stop` (null for several); and `on_time`, whether it belongs to one
    vehicle as well if all run to the second.
    """
    found, roles, feed = services.alone(services.possible), services.roles, services.feed
    codes = np.unravel_index(found.cells, roles.sizes)
    columns = {
        _column(roles.dimension(role).name, _OWN): pa.DictionaryArray.from_arrays(
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
    return pa.table(columns)


def _counts(services: Services, codes: tuple[np.ndarray, ...], /) -> np.ndarray:
    """The published count of each cell; not-a-number where there is none."""
    roles, base = services.roles, services.base
    if set(roles.place.values()) != set(range(len(base.dimensions))) or not base.published:
        return np.full(codes[0].size, np.nan)
    rows = np.empty((len(base.dimensions), codes[0].size), dtype=np.int32)
    for role, code in zip(roles.roles, codes, strict=True):
        rows[roles.place[role]] = code
    return published(base, base.locate(rows))


def _column(name: str, taken: Sequence[str], /) -> str:
    """The name of a dimension's column; one called like a column of the file gets a line below its name."""
    return f"{name}_" if name in taken else name
