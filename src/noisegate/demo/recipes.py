"""The three releases of the story, as specs that a person could have written, and the price of each.

A measurement for an invented city. Of real events it would be raw data, and no release could state it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisegate.columns import kinds_of, literal, own_duckdb, read_numbers, read_texts
from noisegate.engine import count
from noisegate.laws import SeededNoise
from noisegate.simulation import World
from noisegate.spec import ReleaseSpec, load_spec
from noisegate.tables import Domain

#: Stops belong to one mode, and the wharves of a quay are one place, so that no service is closed any more.
_DIMENSIONS = """\
name: {name}
population: invented-city
events:
  source: taps.parquet
  person: card_id
dimensions:
  mode:     {{column: mode, values: [train, bus, ferry, lightrail]}}
  tap:      {{column: tap, values: ["on", "off"]}}
  date:     {{column: tapped_at, from: {first}, to: {last}}}
  time:     {{column: tapped_at, every: 15min}}
  location: {{column: stop, values: stops.csv, only: {{mode: mode}}, group_by: {{postcode: {{mode: [ferry]}}}}}}
tables:
  time-loc: [mode, date, tap, time, location]
  time:     [mode, date, tap, time]
  loc:      [mode, date, tap, location]
privacy:
"""

_CORRECTED = """\
  unit: event
  scale: 1.4
  law: discrete-laplace
  zeros: perturb
  suppress: {below: 18}
  margins: reconcile
  unsafe: false
"""

_PERSON_DAY = """\
  unit: person-day
  max_cells: 4
  epsilon: 2.0
  law: discrete-laplace
  zeros: perturb
  suppress: {spurious: 0.001}
  margins: reconcile
  unsafe: false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to release the same events."""

    key: str
    title: str
    spec: Path
    unit: str


def write_recipes(world: World, last: str, /) -> tuple[Recipe, ...]:
    """The recipe of 2016, which the world brings along, and two sound ones, written beside its events."""
    made = [Recipe(key="2016", title="as in 2016", spec=world.spec_2016, unit="event")]
    for key, title, privacy, unit in (
        ("corrected", "corrected", _CORRECTED, "event"),
        ("person-day", "for persons", _PERSON_DAY, "person-day"),
    ):
        spec = world.folder / f"spec-{key}.yaml"
        spec.write_text(
            _DIMENSIONS.format(name=key, first=world.first, last=last) + privacy, encoding="utf-8"
        )
        made.append(Recipe(key=key, title=title, spec=spec, unit=unit))
    return tuple(made)


Floats = NDArray[np.float64]


def measured_errors(spec_file: Path, folder: Path, /) -> dict[str, float]:
    """The mean distance between published and raw count in each table, over the cells that hold somebody.

    A suppressed cell is read as 0, as a person would read it. Every event counts, also those that bounding
    left out.
    """
    spec = load_spec(spec_file)
    raw = count(_unbounded(spec), entropy=SeededNoise(seed=0))
    found = {}
    for name in spec.tables:
        if name == spec.base:
            domain, sums = spec.domain, _dense(raw.cells, raw.raw_counts, spec.domain.size)
        else:
            domain = spec.margins[name].domain
            sums = _dense(spec.margins[name].of(raw.cells), raw.raw_counts, domain.size)
        gap = np.abs(_published(folder / f"{name}.parquet", domain) - sums)
        found[name] = float(gap[sums > 0].mean())
    return found


def _dense(cells: NDArray[np.int64], counts: NDArray[np.int64], size: int, /) -> Floats:
    return np.bincount(cells, weights=counts, minlength=size).astype(np.float64)


def _unbounded(spec: ReleaseSpec, /) -> ReleaseSpec:
    """The same tables of single events: every event counts."""
    privacy = spec.privacy.model_copy(update={"unit": "event", "max_cells": None})
    return spec.model_copy(update={"privacy": privacy})


def _published(path: Path, domain: Domain, /) -> Floats:
    """The published count of every cell of the domain; 0 where there is none."""
    with own_duckdb() as connection:
        rows = connection.sql(f"FROM read_parquet({literal(str(path))})")
        kinds = kinds_of(rows)
        texts = read_texts(rows, {name: kinds[name] for name in domain.names})
        counts = read_numbers(rows.project("count"), ["count"])["count"]
    codes = []
    for number, dimension in enumerate(domain.dimensions):
        place = {label: code for code, label in enumerate(dimension.labels)}
        held, labels = texts.column(number)
        codes.append(np.array([place[label] for label in labels])[held])
    shown = np.zeros(domain.size)
    shown[domain.encode(*codes)] = counts
    return shown
