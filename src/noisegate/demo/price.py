"""How far the published tables are from the raw counts: the price of each release.

A measurement for an invented city. Of real events it would be raw data, and no release could state it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from noisegate.engine import count
from noisegate.laws import SeededNoise
from noisegate.spec import ReleaseSpec, load_spec
from noisegate.tables import Domain

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
    table = pq.read_table(path)
    codes = []
    for dimension in domain.dimensions:
        place = {label: code for code, label in enumerate(dimension.labels)}
        codes.append(np.array([place[str(value)] for value in table.column(dimension.name).to_pylist()]))
    shown = np.zeros(domain.size)
    shown[domain.encode(*codes)] = table.column("count").to_numpy()
    return shown
