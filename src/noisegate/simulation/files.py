"""The files of a world and its release specs, in a directory that appears whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from noisegate.simulation.day import TAPS, TapTable
from noisegate.timetable import NETWORK_MODES, UNKNOWN_PLACE, Floats, Ints, Network, NetworkStops

ROW_GROUP = 1 << 19
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "store_schema": False,
    "version": "2.6",
    "write_statistics": ["tapped_at", "service_date"],
    "use_dictionary": ["mode", "tap", "stop", "trip_id", "vehicle", "service_date"],
}
_TAPS_SCHEMA = pa.schema(
    [
        ("card_id", pa.int64()),
        ("mode", pa.dictionary(pa.int8(), pa.string())),
        ("tap", pa.dictionary(pa.int8(), pa.string())),
        ("tapped_at", pa.timestamp("ms")),
        ("stop", pa.dictionary(pa.int32(), pa.string())),
    ]
)
_TRUTH_SCHEMA = pa.schema(
    [
        ("trip_id", pa.dictionary(pa.int32(), pa.string())),
        ("vehicle", pa.dictionary(pa.int32(), pa.string())),
        ("service_date", pa.date32()),
        ("stop", pa.dictionary(pa.int32(), pa.string())),
    ]
)


class TapWriter:
    """`taps.parquet` and `taps_truth.parquet`, row by row in step."""

    def __init__(self, folder: Path, network: Network, /) -> None:
        trips = network.trips
        vehicles, vehicle_of_trip = np.unique(np.array(trips.vehicles, dtype=object), return_inverse=True)
        self._modes, self._taps = pa.array(NETWORK_MODES), pa.array(TAPS)
        self._stops = pa.array([*network.stops.names, UNKNOWN_PLACE])
        self._trips, self._vehicles = pa.array(trips.ids), pa.array(vehicles.tolist(), pa.string())
        self._mode_of_trip = network.pattern_modes()[trips.pattern].astype(np.int8)
        self._vehicle_of_trip = vehicle_of_trip.astype(np.int32)
        self._tap_file = pq.ParquetWriter(folder / "taps.parquet", _TAPS_SCHEMA, **_PARQUET)
        self._truth_file = pq.ParquetWriter(folder / "taps_truth.parquet", _TRUTH_SCHEMA, **_PARQUET)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tap_file.close()
        self._truth_file.close()

    def write(self, taps: TapTable, /) -> None:
        """Append `taps` in their order."""
        coded = pa.DictionaryArray.from_arrays
        nowhere = len(self._stops) - 1
        columns = [
            pa.array(taps.card),
            coded(self._mode_of_trip[taps.trip], self._modes),
            coded(taps.tap, self._taps),
            pa.array(taps.at_s * 1000, pa.timestamp("ms")),
            coded(np.where(taps.stop < 0, np.int32(nowhere), taps.stop), self._stops),
        ]
        self._tap_file.write_table(
            pa.Table.from_arrays(columns, schema=_TAPS_SCHEMA), row_group_size=ROW_GROUP
        )
        truth = [
            coded(taps.trip, self._trips),
            coded(self._vehicle_of_trip[taps.trip], self._vehicles),
            pa.array(taps.service_day, pa.date32()),
            coded(taps.true_stop, self._stops),
        ]
        self._truth_file.write_table(
            pa.Table.from_arrays(truth, schema=_TRUTH_SCHEMA), row_group_size=ROW_GROUP
        )


def write_stops(network: Network, path: Path, /) -> None:
    """The public list of places: every stop of the network, then UNKNOWN without a place."""
    stops = network.stops
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["stop", "mode", "postcode", "lat", "lon"])
        for name, mode, postcode, lat, lon in zip(
            stops.names, stops.modes, _postcodes(stops), stops.lat.tolist(), stops.lon.tolist(), strict=True
        ):
            writer.writerow([name, NETWORK_MODES[mode], postcode, f"{lat:.6f}", f"{lon:.6f}"])
        writer.writerow([UNKNOWN_PLACE, "", UNKNOWN_PLACE, "", ""])


def _postcodes(stops: NetworkStops, /) -> tuple[str, ...]:
    """An invented postcode for every stop: cells of a grid, about five stops to a cell."""
    side = max(1, round((len(stops) / 5) ** 0.5))
    row, column = _band(stops.lat, side), _band(stops.lon, side)
    _, rank = np.unique(row * side + column, return_inverse=True)
    return tuple(str(2000 + int(r)) for r in rank)


def _band(coordinate: Floats, count: int, /) -> Ints:
    """Which of `count` equally full bands each coordinate lies in."""
    rank = np.empty(len(coordinate), dtype=np.int64)
    rank[np.argsort(coordinate, kind="stable")] = np.arange(len(coordinate))
    return rank * count // len(coordinate)


_DATA = """\
name: {name}
population: invented-city
events:
  source: taps.parquet
  person: card_id
dimensions:
  mode:     {{column: mode, values: [{modes}]}}
  tap:      {{column: tap, values: ["on", "off"]}}
  date:     {{column: tapped_at, from: {first}, to: {last}}}
  time:     {{column: tapped_at, every: 15min}}
  location: {{column: stop, values: stops.csv}}
tables:
  time-loc: [mode, date, tap, time, location]
  time:     [mode, date, tap, time]
  loc:      [mode, date, tap, location]
privacy:
"""

_SOUND = """\
  unit: person-day
  max_cells: 4
  epsilon: 2.0
  law: discrete-laplace
  zeros: perturb
  suppress: {spurious: 0.001}
  margins: reconcile
  unsafe: false
"""

_AS_IN_2016 = """\
  unit: event
  scale: 1.4
  law: laplace
  zeros: keep
  suppress: {below: 18}
  margins: independent
  unsafe: true
budget:                            # nobody said so in 2016: that somebody shows is accepted this often
  epsilon: 10
  delta: 1e-4
"""


def write_specs(folder: Path, /, *, modes: Sequence[str], first: date, days: int) -> None:
    """Write `spec.yaml` and `spec-2016.yaml` for the events in `folder`."""
    last = first + timedelta(days=days - 1)
    for file, name, privacy in (
        ("spec.yaml", "sound", _SOUND),
        ("spec-2016.yaml", "as-in-2016", _AS_IN_2016),
    ):
        data = _DATA.format(name=name, modes=", ".join(modes), first=first, last=last)
        (folder / file).write_text(data + privacy, encoding="utf-8")
