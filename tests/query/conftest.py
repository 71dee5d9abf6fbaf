"""A small release with merged values and impossible pairs, made once, and the truth behind it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from noisegate.laws import SeededNoise
from noisegate.releases import release
from noisegate.spec import parse_spec

STOPS = [("A", "train", "north"), ("B", "train", "south"), ("C", "bus", "north"), ("D", "bus", "north")]
HOURS = [f"{hour:02d}:00" for hour in range(24)]


@pytest.fixture(scope="session")
def town(tmp_path_factory):
    """Events of two modes at four stops on two days, and a maker of releases of them."""
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(9)
    lines = ["card,at,mode,stop"]
    truth = {}
    for stop, mode, _ in STOPS:
        for day in ("25", "26"):
            for hour in range(24):
                mean = 30 if 7 <= hour < 19 else 2
                count = int(rng.poisson(mean))
                truth[mode, f"2016-07-{day}", HOURS[hour], stop] = count
                lines += [
                    f"c{stop}{day}{hour}-{n},2016-07-{day} {hour:02d}:20:00,{mode},{stop}"
                    for n in range(count)
                ]
    (folder / "taps.csv").write_text("\n".join(lines) + "\n")
    (folder / "stops.csv").write_text("stop,mode,region\n" + "\n".join(",".join(row) for row in STOPS) + "\n")

    def spec(privacy, *, location=None, **more):
        return parse_spec(
            {
                "name": "town",
                "events": {"source": "taps.csv", "person": "card"},
                "dimensions": {
                    "mode": {"column": "mode", "values": ["train", "bus"]},
                    "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                    "time": {"column": "at", "every": "1h"},
                    "stop": {"column": "stop", "values": "stops.csv", **(location or {})},
                },
                "tables": {
                    "base": ["mode", "date", "time", "stop"],
                    "time": ["mode", "date", "time"],
                    "stops": ["mode", "date", "stop"],
                },
                "privacy": {"unit": "person-day", "max_cells": 1, "epsilon": 2, **privacy},
                **more,
            },
            folder=folder,
        )

    def made(name, privacy, *, seed=1, **more):
        out = folder / name
        if not out.exists():
            release(
                spec(privacy, **more),
                out=out,
                ledger=folder / f"{name}.sqlite",
                entropy=SeededNoise(seed=seed),
            )
        return out

    return SimpleNamespace(folder=folder, truth=truth, spec=spec, made=made)


@pytest.fixture
def whole(town):
    """Nothing left out."""
    return town.made("whole", {"margins": "derive"}, location={"only": {"mode": "mode"}})


@pytest.fixture
def cut(town):
    """Small values left out, margins reconciled."""
    return town.made(
        "cut", {"margins": "reconcile", "suppress": {"below": 12}}, location={"only": {"mode": "mode"}}
    )


@pytest.fixture
def merged(town):
    """Bus stops shown by region, nights by whole nights."""
    return town.made(
        "merged",
        {"margins": "derive"},
        location={"group_by": {"region": {"mode": ["bus"]}}},
        merge=[{"dimension": "time", "into": "6h", "where": {"time": {"from": "00:00", "to": "06:00"}}}],
    )


@pytest.fixture
def card_of():
    return lambda folder: json.loads((folder / "card.json").read_text())
