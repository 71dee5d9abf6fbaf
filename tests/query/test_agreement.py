"""`query` and `assess` hand the same problem to the same engine: 200 sums in three worlds and four ways of releasing."""

import numpy as np
import pytest

from noisegate.assessment import assess
from noisegate.engine import Counts, Tally
from noisegate.laws import SeededNoise
from noisegate.query import open_release
from noisegate.releases import make_card, make_plan, publish_tables, write_card, write_table
from noisegate.spec import parse_spec

PERSONS = {"unit": "person-day", "max_cells": 1, "epsilon": 2, "suppress": {"spurious": 0.001}}
WAYS = {
    "derive": {**PERSONS, "margins": "derive"},
    "reconcile": {**PERSONS, "margins": "reconcile"},
    "independent": {**PERSONS, "margins": "independent", "unsafe": True},
    "as in 2016": {
        "unit": "event",
        "scale": 1.4,
        "law": "laplace",
        "zeros": "keep",
        "margins": "independent",
        "suppress": {"below": 18},
        "unsafe": True,
    },
}


def city(rng):
    """Rides by mode, day, tap, hour and stop; those of one stop start where those of another end an hour later."""
    rate = (
        rng.gamma(1, 1, (2, 1, 1, 24, 1))
        * rng.gamma(0.7, 1, (2, 1, 1, 1, 8))
        * rng.gamma(9, 1, (2, 3, 2, 1, 1))
    )
    raw = rng.poisson(rate)
    raw[1, :, 1, 1:, 1] = raw[1, :, 0, :-1, 0] = rng.poisson(40, (3, 23))
    dimensions = {
        "mode": {"column": "m", "values": ["train", "ferry"]},
        "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-27"},
        "tap": {"column": "t", "values": ["on", "off"]},
        "time": {"column": "at", "every": "1h"},
        "stop": {"column": "s", "values": [f"S{n}" for n in range(8)]},
    }
    return dimensions, [["mode", "date", "tap", "time"], ["mode", "date", "tap", "stop"]], raw


def nested(rng):
    """Stops that belong to one mode each, and a margin that adds up the modes."""
    home = np.arange(10) % 2
    rate = rng.gamma(1, 1, (1, 1, 24, 1)) * rng.gamma(0.5, 12, (1, 1, 1, 10)) * np.ones((2, 2, 1, 1))
    raw = rng.poisson(rate) * (home == np.arange(2)[:, None])[:, None, None, :]
    dimensions = {
        "mode": {"column": "m", "values": ["train", "bus"]},
        "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
        "time": {"column": "at", "every": "1h"},
        "stop": {"column": "s", "values": "stops.csv", "only": {"mode": "mode"}},
    }
    return dimensions, [["mode", "date", "time"], ["mode", "date", "stop"]], raw


def shops(rng):
    """Sales by shop, product and age: no time at all."""
    raw = rng.poisson(
        np.exp(rng.normal(0, 1, (6, 1, 1)) + rng.normal(1, 1, (1, 30, 1)) + rng.normal(0, 0.5, (1, 1, 5)))
    )
    names = {"shop": "P", "product": "A", "age": "g"}
    dimensions = {
        name: {"column": name, "values": [f"{letter}{n}" for n in range(size)]}
        for (name, letter), size in zip(names.items(), raw.shape, strict=True)
    }
    return dimensions, [["shop", "product"], ["shop", "age"]], raw


WORLDS = {"city": city, "nested": nested, "shops": shops}


def publish(folder, world, way, *, seed=1):
    """A release of known counts, by the code that makes every release."""
    dimensions, margins, raw = WORLDS[world](np.random.default_rng(seed))
    stops = "".join(f"S{n},{'bus' if n % 2 else 'train'}\n" for n in range(10))
    (folder / "stops.csv").write_text("stop,mode\n" + stops)
    tables = {"base": list(dimensions), **{f"margin{k}": names for k, names in enumerate(margins)}}
    told = {"name": world, "events": {"source": "none", "person": "card"}, "dimensions": dimensions}
    privacy = WAYS[way]
    if "date" not in dimensions and privacy["unit"] == "person-day":
        privacy = {**privacy, "unit": "person"}
    spec = parse_spec({**told, "tables": tables, "privacy": privacy}, folder=folder)
    places = np.nonzero(raw)
    cells = spec.domain.encode(*places)
    order = np.argsort(cells)
    plan = make_plan(spec)
    tally = Tally(events=int(raw.sum()), outside={})
    counts = Counts(cells=cells[order], raw_counts=raw[places][order].astype(np.int64), tally=tally)
    found = publish_tables(plan, counts, entropy=SeededNoise(seed=seed))
    out = folder / "release"
    out.mkdir()
    for name, table in found.items():
        write_table(out, name, spec.domain if name == "base" else spec.margins[name].domain, table)
    rows = {name: len(table.cells) for name, table in found.items()}
    write_card(out, make_card(plan, rows=rows, dataset=None, reservation="none", simulated=True), "")
    return out, raw


def random_question(rng, dimensions):
    """Some labels of some dimensions."""
    where = {}
    for name, labels in dimensions.items():
        if rng.random() < 0.6:
            chosen = rng.choice(len(labels), rng.integers(1, len(labels) + 1), replace=False)
            where[name] = [labels[k] for k in sorted(chosen.tolist())]
    return where


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("world", list(WORLDS))
def test_query_and_assess_agree(tmp_path, world, way):
    folder, _ = publish(tmp_path, world, way)
    release = open_release(folder)
    found = assess([folder])
    engine = found.inference.engine
    cells = found.cells_table()  # what is written as cells.parquet
    columns = {name: np.array(cells.column(name).to_pylist(), dtype=object) for name in release.dimensions}
    mean = cells.column("mean").to_numpy()
    assert len(mean) == release.domain.size
    rng = np.random.default_rng(2)
    asked = 0
    while asked < 200:
        where = random_question(rng, release.dimensions)
        inside = np.logical_and.reduce(
            [np.isin(columns[name], labels) for name, labels in where.items()] or [np.ones(len(mean), bool)]
        )
        if not inside.any():
            continue
        answer = release.answer(where=where)
        numbers = np.flatnonzero(inside)
        sums = engine.sums(numbers, np.zeros(len(numbers), np.int64), size=1, level=0.95)
        assert answer.told[0] == sums.told[0]
        if answer.told[0]:
            assert answer.estimate[0] == pytest.approx(mean[inside].sum(), rel=1e-6, abs=1e-6)
        assert (answer.low[0], answer.high[0]) == (sums.low[0], sums.high[0])
        asked += 1


def test_equal_counts_tie_both(tmp_path):
    """A closed service is found by both, and its two ends have one posterior."""
    folder, _ = publish(tmp_path, "city", "as in 2016")
    posterior = open_release(folder).posterior
    left, right = posterior.evidence.equal
    posterior.prepare()
    assert left.size > 30
    assert posterior.mean[left] == pytest.approx(posterior.mean[right])
