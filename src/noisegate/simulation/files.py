"""The files of a world and its release specs, in a directory that appears whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from noisegate.columns import Columns, ParquetWriter, Values
from noisegate.simulation.day import TAPS, TapTable
from noisegate.timetable import NETWORK_MODES, UNKNOWN_PLACE, Floats, Ints, Network, NetworkStops


class TapWriter:
    """`taps.parquet` and `taps_truth.parquet`, row by row in step."""

    def __init__(self, folder: Path, network: Network, /) -> None:
        trips = network.trips
        vehicles, vehicle_of_trip = np.unique(np.array(trips.vehicles, dtype=object), return_inverse=True)
        self._stops = (*network.stops.names, UNKNOWN_PLACE)
        self._trips, self._vehicles = tuple(trips.ids), tuple(map(str, vehicles.tolist()))
        self._mode_of_trip = network.pattern_modes()[trips.pattern].astype(np.int8)
        self._vehicle_of_trip = vehicle_of_trip.astype(np.int32)
        self._tap_file = ParquetWriter(folder / "taps.parquet", typed=False)
        self._truth_file = ParquetWriter(folder / "taps_truth.parquet", typed=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tap_file.__exit__(kind, error, trace)
        self._truth_file.__exit__(kind, error, trace)

    def write(self, taps: TapTable, /) -> None:
        """Append `taps` in their order."""
        nowhere = len(self._stops) - 1
        self._tap_file.write(
            Columns(
                {
                    "card_id": Values.numbers(taps.card),
                    "mode": Values.coded(self._mode_of_trip[taps.trip], NETWORK_MODES),
                    "tap": Values.coded(taps.tap, TAPS),
                    "tapped_at": Values.numbers((taps.at_s * 1000).astype("datetime64[ms]")),
                    "stop": Values.coded(np.where(taps.stop < 0, nowhere, taps.stop), self._stops),
                }
            )
        )
        self._truth_file.write(
            Columns(
                {
                    "trip_id": Values.coded(taps.trip, self._trips),
                    "vehicle": Values.coded(self._vehicle_of_trip[taps.trip], self._vehicles),
                    "service_date": Values.numbers(taps.service_day.astype("datetime64[D]")),
                    "stop": Values.coded(taps.true_stop, self._stops),
                }
            )
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
