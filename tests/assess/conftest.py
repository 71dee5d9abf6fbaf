"""Published tables with a known truth: small invented ones, and whole simulated worlds."""

from __future__ import annotations

import csv
import itertools
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from noisegate.laws import SeededNoise
from noisegate.releases import release
from noisegate.simulation import simulate
from noisegate.spec import load_spec


def noisy(raw, scale, rng):
    """Counts with rounded Laplace noise."""
    return np.asarray(raw) + np.rint(rng.laplace(scale=scale, size=np.shape(raw)))


def write_counts(path, dimensions, counts, *, least=18):
    """Write an array of published counts over named dimensions as CSV; what is below `least` is left out."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*dimensions, "count"])
        for index, values in zip(
            np.ndindex(counts.shape), itertools.product(*dimensions.values()), strict=True
        ):
            if np.isfinite(counts[index]) and counts[index] >= least:
                writer.writerow([*values, int(counts[index])])
    return path


def days(number):
    first = date(2016, 7, 25)
    return [(first + timedelta(days=k)).isoformat() for k in range(number)]


def clock(step=15, start=0, stop=1440):
    return [f"{m // 60:02d}:{m % 60:02d}" for m in range(start, stop, step)]


@pytest.fixture(scope="session")
def invent():
    """What invented tables are made of."""
    return SimpleNamespace(noisy=noisy, days=days, clock=clock)


@pytest.fixture
def tables(tmp_path):
    """Write tables given as name -> (dimensions, counts) and return their paths in that order."""

    def write(least=18, **given):
        return [
            write_counts(tmp_path / f"{name.replace('_', '-')}.csv", dimensions, counts, least=least)
            for name, (dimensions, counts) in given.items()
        ]

    return write


@dataclass(frozen=True)
class Release:
    """A simulated world, released."""

    world: object
    folder: Path
    names: tuple[str, ...] = ("time-loc", "time", "loc")

    @property
    def paths(self):
        return [self.folder / f"{name}.csv" for name in self.names]


def released(world, spec, folder, *, seed):
    """Release a world with repeatable noise, without a card beside the tables."""
    release(
        load_spec(spec),
        out=folder,
        ledger=folder.parent / f"{folder.name}.db",
        entropy=SeededNoise(seed=seed),
    )
    (folder / "card.json").rename(folder.parent / f"{folder.name}-card.json")
    return Release(world, folder)


@pytest.fixture(scope="session")
def make_release(tmp_path_factory):
    """A world of the given size, released as in 2016 or soundly."""

    def make(*, recipe="2016", seed=1, persons=60_000, days=14, **world):
        folder = tmp_path_factory.mktemp("world")
        made = simulate(folder / "world", persons=persons, days=days, seed=seed, **world)
        spec = made.spec_2016 if recipe == "2016" else made.spec
        return released(made, spec, folder / recipe, seed=seed)

    return make


@pytest.fixture(scope="session")
def fortnight(tmp_path_factory):
    """60,000 people with a closed ferry: the world and both its releases."""
    folder = tmp_path_factory.mktemp("fortnight")
    world = simulate(folder / "world", persons=60_000, days=14, seed=11)
    return {
        "2016": released(world, world.spec_2016, folder / "as-in-2016", seed=2),
        "sound": released(world, world.spec, folder / "sound", seed=11),
    }


@pytest.fixture(scope="session")
def without_ferry(tmp_path_factory):
    """The same without any closed service."""
    folder = tmp_path_factory.mktemp("without-ferry")
    world = simulate(folder / "world", persons=60_000, days=14, seed=12, closed_ferry=False)
    return {
        "2016": released(world, world.spec_2016, folder / "as-in-2016", seed=12),
        "sound": released(world, world.spec, folder / "sound", seed=12),
    }


@pytest.fixture
def write_feed():
    """Write the tables of a feed, text or bytes by name, and give their folder."""

    def write(folder, tables):
        folder.mkdir()
        for name, text in tables.items():
            (folder / f"{name}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder

    return write
