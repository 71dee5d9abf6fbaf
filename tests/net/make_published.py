"""Make the inputs of the nets: the taps of a town, and four published worlds. Run once; kept for the record.

    python tests/net/make_published.py

A change here changes the posteriors, so their golden files have to be written anew with it.
"""

import csv
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import yaml

HERE = Path(__file__).parent
STOPS = [
    ("A", "train", "north"),
    ("B", "train", "south"),
    ("C", "bus", "north"),
    ("D", "bus", "north"),
    ("E", "bus", "south"),
]
DAYS = ("2016-08-01", "2016-08-02", "2016-08-03")


def write(file, header, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def taps_of_a_town(rng):
    """1,600 taps of 300 cards on two days at five stops, most in the peaks."""
    rows = []
    for _ in range(1600):
        stop, mode, _ = STOPS[min(4, rng.geometric(0.35) - 1)]
        hour = int(np.clip(rng.normal(rng.choice([8, 17]), 2.5), 0, 23))
        at = f"2016-07-{25 + rng.integers(2)} {hour:02d}:{rng.integers(60):02d}:00"
        rows.append((f"c{rng.integers(300):03d}", at, mode, stop))
    return rows


def town(rng):
    write(HERE / "town" / "taps.csv", ("card", "at", "mode", "stop"), taps_of_a_town(rng))
    write(HERE / "town" / "stops.csv", ("stop", "mode", "region"), STOPS)


def counts(rng, *, stops, hours):
    """Raw counts by day, stop and hour: busy stops, two peaks, some cells empty."""
    size = rng.gamma(1.5, 14, size=(1, stops, 1))
    shape = (
        0.15
        + np.exp(-0.5 * ((np.arange(hours) - 2) / 1.2) ** 2)
        + np.exp(-0.5 * ((np.arange(hours) - 9) / 1.5) ** 2)
    )
    return rng.poisson(size * shape * rng.gamma(20, 1 / 20, size=(len(DAYS), stops, 1)))


def noised(rng, raw, *, below):
    """Published as in 2016: empty cells stay empty, rounded Laplace noise, small values left out."""
    shown = np.where(raw > 0, raw + np.rint(rng.laplace(scale=1.4, size=raw.shape)), 0).astype(int)
    return {index: shown[index] for index in np.ndindex(raw.shape) if shown[index] >= below}


def table(folder, name, dimensions, shown):
    words = {
        "date": lambda n: DAYS[n],
        "stop": lambda n: f"S{n}",
        "time": lambda n: f"{6 + n:02d}:00",
    }
    rows = [
        [*(words[d](n) for d, n in zip(dimensions, index, strict=True)), value]
        for index, value in shown.items()
    ]
    write(HERE / "published" / folder / f"{name}.csv", (*dimensions, "count"), rows)


def linked(rng):
    """Two noised margins over a base with a threshold."""
    raw = counts(rng, stops=6, hours=12)
    table("linked", "base", ("date", "stop", "time"), noised(rng, raw, below=18))
    table("linked", "stops", ("date", "stop"), noised(rng, raw.sum(axis=2), below=18))
    table("linked", "times", ("date", "time"), noised(rng, raw.sum(axis=1), below=18))


def one_margin(rng):
    """Only totals of stops beside the base."""
    raw = counts(rng, stops=5, hours=12)
    table("one-margin", "base", ("date", "stop", "time"), noised(rng, raw, below=10))
    table("one-margin", "stops", ("date", "stop"), noised(rng, raw.sum(axis=2), below=10))


def exact(rng):
    """Exact counts, small ones hidden behind a marker, exact totals of rows and of columns."""
    raw = rng.integers(18, 60, size=(16, 8))
    # Alone in row and column, two in a row, and four in a rectangle that totals cannot tell apart.
    for row, column in [(0, 0), (2, 3), (2, 5), (6, 1), (6, 4), (9, 1), (9, 4), (12, 6)]:
        raw[row, column] = rng.integers(0, 18)
    towns, ages = [f"town {n}" for n in range(16)], [f"group {n}" for n in range(8)]
    shown = [
        [town, age, raw[i, j] if raw[i, j] >= 18 else "<18"]
        for i, town in enumerate(towns)
        for j, age in enumerate(ages)
    ]
    write(HERE / "published" / "exact" / "cells.csv", ("town", "age", "count"), shown)
    write(
        HERE / "published" / "exact" / "towns.csv",
        ("town", "count"),
        zip(towns, raw.sum(axis=1), strict=True),
    )
    write(
        HERE / "published" / "exact" / "ages.csv", ("age", "count"), zip(ages, raw.sum(axis=0), strict=True)
    )


def as_in_2016(rng):
    """A ferry that taps off by itself, released by noisegate as in 2016, with its card."""
    from noisegate.cli.main import main

    sailings = rng.poisson(rng.uniform(8, 60, size=(len(DAYS), 2, 16)))
    rows = []
    for day, way, hour in np.ndindex(sailings.shape):
        for tap, stop, later in (("on", way, 0), ("off", 1 - way, 1)):
            at = f"{DAYS[day]} {6 + hour + later:02d}:10:00"
            rows += [(f"p{rng.integers(900)}", at, tap, ("Beach", "Quay")[stop])] * sailings[day, way, hour]
    spec = {
        "name": "as-in-2016",
        "events": {"source": "taps.csv", "person": "card"},
        "dimensions": {
            "tap": {"column": "tap", "values": ["on", "off"]},
            "date": {"column": "at", "from": DAYS[0], "to": DAYS[-1]},
            "time": {"column": "at", "every": "1h"},
            "stop": {"column": "stop", "values": ["Beach", "Quay", "Zoo"]},
        },
        "tables": {"base": ["tap", "date", "time", "stop"], "time": ["tap", "date", "time"], "stops": ["tap", "date", "stop"]},
        "privacy": {
            "unit": "event", "law": "laplace", "scale": 1.4, "zeros": "keep", "suppress": {"below": 18},
            "margins": "independent", "unsafe": True,
        },
    }  # fmt: skip
    target = HERE / "published" / "as-in-2016"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "taps.csv", ("card", "at", "tap", "stop"), rows)
        (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
        os.urandom = rng.bytes
        main(
            [
                "release",
                str(folder / "spec.yaml"),
                "--out",
                str(folder / "out"),
                "--ledger",
                str(folder / "l.sqlite"),
            ]
        )
        target.mkdir(parents=True, exist_ok=True)
        for file in (folder / "out").glob("*.csv"):
            (target / file.name).write_text(file.read_text())
        card = json.loads((folder / "out" / "card.json").read_text())
        (target / "card.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    for seed, made in enumerate((town, linked, one_margin, exact, as_in_2016), start=1):
        made(np.random.default_rng(seed))
