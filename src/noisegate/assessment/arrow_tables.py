"""The tables that an assessment leaves: `cells.parquet`, what is known about every cell of the base, and `vehicles.parquet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.inference import Inference
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.services import Services
from noisegate.columns import Columns, Values
from noisegate.inference import ENDLESS
from noisegate.recovery import published
from noisegate.tables import Table

_ROWS_AT_ONCE = 1_000_000
_ESTIMATES = ("published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level")
_OWN = ("published", "vehicle", "stop", "on_time")


def cells_batches(found: Inference | KnownCounts, /) -> Iterator[Columns]:
    """The content of `cells.parquet`, some cells at a time: all of the base, or of very many those that were looked at.

    Its columns: the dimensions, the published count (null when suppressed), and the estimate; of counts that only have
    bounds these, at level 1, and no estimate where they differ.
    """
    cells, values, columns_of = _inferred(found) if isinstance(found, Inference) else _bounded(found)
    looked = found.looked if isinstance(found, Inference) else None
    chosen = None if looked is None else looked.cells
    rows = cells.size if chosen is None else chosen.size
    for start in range(0, rows, _ROWS_AT_ONCE):
        part = slice(start, min(start + _ROWS_AT_ONCE, rows))
        here = part if chosen is None else chosen[part]
        flat = np.arange(part.start, part.stop) if chosen is None else chosen[part]
        columns = {
            _column(dimension.name, _ESTIMATES): Values(values=codes, labels=dimension.labels)
            for dimension, codes in zip(cells.dimensions, cells.codes(flat), strict=True)
        }
        hidden = np.isnan(values[here])
        shown = np.where(hidden, 0, values[here]).astype(np.int64)
        columns["published"] = Values.numbers(shown, missing=hidden)
        yield Columns(columns | columns_of(here))


_Which = slice | NDArray[np.int64]
_Columns = Callable[[_Which], dict[str, Values]]


def _inferred(found: Inference, /) -> tuple[Table, NDArray[np.float64], _Columns]:
    posterior = found.posterior

    def columns(here: _Which) -> dict[str, Values]:
        return {
            "mean": Values.numbers(posterior.mean[here]),
            "sd": Values.numbers(posterior.sd[here]),
            "mode_count": Values.numbers(posterior.mode[here]),
            "lo": Values.numbers(posterior.low[here]),
            "hi": Values.numbers(posterior.high[here]),
            "p_zero": Values.numbers(posterior.p_zero[here]),
            "level": Values.numbers(np.full(len(posterior.mean[here]), posterior.level)),
        }

    return found.cells, found.evidence.base.values, columns


def _bounded(found: KnownCounts, /) -> tuple[Table, NDArray[np.float64], _Columns]:
    base = found.linked.tables[0]

    def columns(here: _Which) -> dict[str, Values]:
        low, high = found.bounds.low[here], found.bounds.high[here]
        open_, endless = low < high, high >= ENDLESS
        nobody = np.where(high == 0, 1.0, 0.0)
        return {
            "mean": Values.numbers(low.astype(np.float64), missing=open_),
            "sd": Values.numbers(np.zeros(low.size), missing=open_),
            "mode_count": Values.numbers(low, missing=open_),
            "lo": Values.numbers(low),
            "hi": Values.numbers(np.where(endless, 0, high), missing=endless),
            "p_zero": Values.numbers(nobody, missing=(low == 0) & (high > 0)),
            "level": Values.numbers(np.ones(low.size)),
        }

    return base, base.at(np.arange(base.size)), columns


def vehicles_table(services: Services, /) -> Columns:
    """The content of `vehicles.parquet`: one row for each cell that belongs to one vehicle within the tolerance.

    Its columns: the dimensions that a timetable speaks about; `published`, the count (null when suppressed, or if the table
    has other dimensions too); `vehicle` and `stop` (null for several); and `on_time`, whether it belongs to one
    vehicle as well if all run to the second.
    """
    found, roles, feed = services.alone(services.possible), services.roles, services.feed
    codes = np.unravel_index(found.cells, roles.sizes)
    columns = {
        _column(roles.dimension(role).name, _OWN): Values.coded(code.astype(np.int32), roles.labels(role))
        for role, code in zip(roles.roles, codes, strict=True)
    }
    counts = _counts(services, codes)
    hidden = np.isnan(counts)
    columns["published"] = Values.numbers(np.where(hidden, 0, counts), missing=hidden)
    runs, which = np.unique(found.run, return_inverse=True)
    words = [feed.vehicle(services.visits, run) for run in runs.tolist()]
    columns["vehicle"] = Values.coded(which.astype(np.int32), words)
    stops = np.maximum(found.stop, 0).astype(np.int32)
    columns["stop"] = Values.coded(stops, feed.stops.names, missing=found.stop < 0)
    columns["on_time"] = Values.numbers(np.isin(found.cells, services.alone(services.scheduled).cells))
    return Columns(columns)


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
