"""Do the intervals of a query hold the truth as often as they say? Releases from worlds whose truth is known.

Sums of random boxes: single cells to whole releases, by no dimension or by several, most with missing members.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from noisegate.engine import Counts, Tally
from noisegate.laws import SeededNoise
from noisegate.query import open_release, withdrawn_of
from noisegate.releases import make_card, make_plan, publish_tables, write_card, write_table
from noisegate.spec import parse_spec
from noisegate.tables import Selection

AXES = ("mode", "date", "tap", "time", "location")
PERSONS = {"unit": "person-day", "max_cells": 4, "epsilon": 2}
CUT = {"suppress": {"spurious": 0.001}}
METHODS = {
    "derive, all shown": {**PERSONS, "margins": "derive"},
    "reconcile, all shown": {**PERSONS, "margins": "reconcile"},
    "independent, all shown": {**PERSONS, "margins": "independent", "unsafe": True},
    "derive": {**PERSONS, **CUT, "margins": "derive"},
    "reconcile": {**PERSONS, **CUT, "margins": "reconcile"},
    "independent": {**PERSONS, **CUT, "margins": "independent", "unsafe": True},
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


def world(rng, *, days=4, stops=24, mean=4.0):
    """Counts by mode, day, tap, quarter-hour and place: peaks, quiet nights, habits, over-dispersion."""
    hour = np.arange(96) / 4
    profile = 0.03 + np.exp(-((hour - 8) ** 2) / 2) + np.exp(-((hour - 17.5) ** 2) / 3)
    profile += 0.35 * np.exp(-((hour - 13) ** 2) / 20)
    places = rng.permutation(1 / np.arange(1, stops + 1))
    habit = rng.gamma(6, 1 / 6, (2, 1, 1, 96, stops))
    busy = np.exp(rng.normal(0, 0.15, (2, days, 1, 1, 1))) * np.array([1, 0.5]).reshape(2, 1, 1, 1, 1)
    taps = np.array([1, 1.1]).reshape(1, 1, 2, 1, 1)
    rate = profile[:, None] * places * habit * busy * taps
    rate *= mean / rate.mean()
    return rng.poisson(rate * rng.gamma(8, 1 / 8, rate.shape))


def published(folder: Path, raw, privacy, *, seed):
    """Write a release of known counts into `folder`, by the code that makes every release."""
    _, days, _, _, stops = raw.shape
    spec = parse_spec(
        {
            "name": "world",
            "events": {"source": "taps.parquet", "person": "card"},
            "dimensions": {
                "mode": {"column": "mode", "values": ["train", "ferry"]},
                "date": {"column": "at", "from": "2016-07-25", "to": f"2016-07-{24 + days}"},
                "tap": {"column": "tap", "values": ["on", "off"]},
                "time": {"column": "at", "every": "15min"},
                "location": {"column": "stop", "values": [f"S{n:02d}" for n in range(stops)]},
            },
            "tables": {
                "base": list(AXES),
                "time": ["mode", "date", "tap", "time"],
                "loc": ["mode", "date", "tap", "location"],
            },
            "privacy": privacy,
        },
        folder=folder,
    )
    plan, flat = make_plan(spec), raw.ravel()
    cells = np.flatnonzero(flat)
    counts = Counts(
        cells=cells, raw_counts=flat[cells].astype(np.int64), tally=Tally(events=int(flat.sum()), outside={})
    )
    tables = publish_tables(plan, counts, entropy=SeededNoise(seed=seed))
    for name, table in tables.items():
        write_table(folder, name, spec.domain if name == "base" else spec.margins[name].domain, table)
    rows = {name: len(table.cells) for name, table in tables.items()}
    card = make_card(plan, rows=rows, dataset=None, reservation="none", simulated=True)
    write_card(folder, card, "")
    return open_release(folder)


def clock(quarter):
    return f"{quarter // 4:02d}:{quarter % 4 * 15:02d}"


def random_question(rng, dimensions):
    where = {}
    for name, labels in dimensions.items():
        chance = rng.random()
        if name == "time" and chance < 0.45:
            first = int(rng.integers(0, 95))
            last = (
                int(rng.integers(first + 1, 97))
                if rng.random() < 0.5
                else min(96, first + int(rng.integers(1, 9)))
            )
            where[name] = f"{clock(first)}..{clock(last)}"
        elif chance < 0.45 or (name == "time" and chance < 0.65):
            where[name] = str(rng.choice(labels))
        elif chance < 0.6:
            where[name] = [
                str(label) for label in rng.choice(labels, rng.integers(1, len(labels) + 1), replace=False)
            ]
    return where, [name for name in AXES if rng.random() < 0.12]


def one_answer(release, raw, rng):
    """Truth, low, high and missing cells of a random group of a random question, and whether its answer was withdrawn."""
    where, by = random_question(rng, release.dimensions)
    answers = release.answer(where=where, by=by)
    chosen = Selection.parse(where, release.domain, by=by)
    part = raw[np.ix_(*(np.flatnonzero(share) for share in chosen.shares))]
    order = [AXES.index(name) for name in by] + [i for i, name in enumerate(AXES) if name not in by]
    truth = part.transpose(order).reshape(len(answers), -1).sum(axis=1)
    k = int(rng.integers(len(answers)))
    withdrawn = withdrawn_of(answers, len(answers))[k]
    return truth[k], answers.low[k], answers.high[k], answers.suppressed[k], withdrawn


def answers_of(tmp_path, method, *, releases, questions, **size):
    found = []
    for seed in range(releases):
        rng = np.random.default_rng([20160725, seed])
        raw = world(rng, **size)
        folder = tmp_path / str(seed)
        folder.mkdir()
        release = published(folder, raw, METHODS[method], seed=seed)
        found += [one_answer(release, raw, rng) for _ in range(questions)]
    return np.array(found)


def covered(found):
    truth, low, high, *_ = found.T
    return (low <= truth) & (truth <= high)


@pytest.mark.parametrize("method", list(METHODS))
def test_intervals_hold_the_truth(tmp_path, method):
    """A first look at one small release of each kind; the slow test below looks closer."""
    found = answers_of(tmp_path, method, releases=1, questions=80, days=2, stops=12, mean=6.0)
    assert covered(found).mean() >= 0.85
    if "all shown" not in method:
        assert (found[:, 3] > 0).mean() > 0.3


def test_narrower_intervals_are_caught(tmp_path):
    """The test has power: intervals of a third of the width hold the truth much less often."""
    found = answers_of(tmp_path, "derive, all shown", releases=2, questions=120, days=2, stops=12)
    truth, low, high, *_ = found.T
    middle, half = (low + high) / 2, (high - low) / 6
    hits = int((np.abs(truth - middle) <= half).sum())
    assert stats.binomtest(hits, len(found), 0.95).pvalue < 1e-6


#: Events in the answer, from and to.
BANDS = [(0, 4), (5, 30), (31, 1_000), (1_001, 10**9)]
#: Where intervals are wider than they say, with the share that they hold.
OUTSIDE = {"derive": 0.9857}


def with_what_is_outside(method):
    found = OUTSIDE.get(method)
    return pytest.param(
        method, marks=[pytest.mark.xfail(strict=True, reason=f"hold {found:.2%}")] if found else []
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", [with_what_is_outside(method) for method in METHODS])
def test_intervals_of_a_thousand_questions(tmp_path, method):
    """As often as they say: 93 to 97 in 100 of those that are told, and not by large answers making up for small ones; what is withdrawn has bounds that hold.

    With the little noise of 2016 an interval has few whole numbers, and those at its ends hold up to one in 100 more.
    """
    found = answers_of(tmp_path, method, releases=25, questions=40)
    hits, told = covered(found), found[:, 4] == 0
    assert told.sum() >= 400
    assert told.all() or hits[~told].mean() >= 0.99
    assert 0.93 <= hits[told].mean() <= (0.98 if method == "as in 2016" else 0.97), hits[told].mean()
    for first, last in BANDS:
        inside = (first <= found[:, 0]) & (found[:, 0] <= last)
        assert inside.sum() >= 100
        assert hits[inside].mean() >= 0.925
