"""Trajectories from counts: the attack wins where few people walk, says no more than the null where many commute or counts are noisy."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import noisegate
from noisegate.assessment import as_closed, random_trajectories, recover_trajectories, score_trajectories
from noisegate.errors import SpecError
from noisegate.laws import SeededNoise

SIDE = 10
STEPS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])


def walkers(people, times, rng):
    """People who go straight on over a grid, and turn now and then; shape (people, times)."""
    at, way, found = rng.integers(0, SIDE, (people, 2)), rng.integers(0, 4, people), []
    for _ in range(times):
        found.append(at[:, 0] * SIDE + at[:, 1])
        way = np.where(rng.random(people) < 0.2, rng.integers(0, 4, people), way)
        there = at + STEPS[way]
        out = ((there < 0) | (there >= SIDE)).any(axis=1)
        way, at = np.where(out, (way + 2) % 4, way), np.where(out[:, None], at, there)
    return np.stack(found, axis=1)


def commuters(people, days, rng):
    """People with a home and a work place, 24 hours a day."""
    home, work = rng.integers(0, SIDE**2, (2, people))
    found = []
    for _ in range(days):
        go, back = rng.integers(6, 10, people), rng.integers(15, 20, people)
        found += [np.where((hour >= go) & (hour < back), work, home) for hour in range(24)]
    return np.stack(found, axis=1)


def counted(ways):
    return np.stack([np.bincount(row, minlength=SIDE**2) for row in ways.T])


def grid():
    at = np.array([divmod(k, SIDE) for k in range(SIDE**2)], float)
    return np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))


def test_every_count_is_met():
    ways = walkers(40, 12, np.random.default_rng(1))
    for found in (
        recover_trajectories(counted(ways), distance=grid()),
        recover_trajectories(counted(ways), per_day=4),
        random_trajectories(counted(ways), rng=np.random.default_rng(2)),
    ):
        assert (counted(found) == counted(ways)).all()


def test_few_walkers_are_followed_far_beyond_the_null_and_noise_ends_that():
    right, null, noisy, noisy_null = [], [], [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ways = walkers(12, 24, rng)
        counts = counted(ways)
        score = score_trajectories(recover_trajectories(counts, distance=grid()), ways, counts, rng=rng)
        right.append(score.right)
        null.append(score.null)
        # A day of a person in 24 cells at epsilon 2: discrete Laplace noise of scale 12.
        hidden = as_closed(counts + rng.laplace(0, 12, counts.shape), people=12)
        score = score_trajectories(recover_trajectories(hidden, distance=grid()), ways, hidden, rng=rng)
        noisy.append(score.right)
        noisy_null.append(score.null)
    assert np.mean(right) > np.mean(null) + 0.3
    assert abs(np.mean(noisy) - np.mean(noisy_null)) < 0.03


def test_of_many_commuters_it_says_no_more_than_that_people_stay():
    """Where it does not work: who of the many in a place leaves cannot be told."""
    rng = np.random.default_rng(3)
    ways = commuters(150, 2, rng)
    counts = counted(ways)
    score = score_trajectories(
        recover_trajectories(counts, distance=grid(), per_day=24), ways, counts, rng=rng
    )
    assert score.right > score.random + 0.2  # beside random guesses it looks good,
    assert score.gain < 0.05  # beside people who stay it does not.


def test_what_is_no_count_of_the_same_people_is_refused():
    with pytest.raises(SpecError, match="the same people at every time"):
        recover_trajectories(np.array([[1, 2], [2, 2]]))


def write_events(path, ways, first):
    """Every person's place at every hour, as events."""
    people, times = ways.shape
    who = np.repeat(np.arange(people), times)
    when = [first + timedelta(hours=int(hour), minutes=5) for hour in np.tile(np.arange(times), people)]
    where = [f"{k // SIDE},{k % SIDE}" for k in ways.ravel()]
    table = pa.table(
        {"card": [f"c{k}" for k in who], "at": pa.array(when, pa.timestamp("us")), "cell": where}
    )
    pq.write_table(table, path)


def release_spec(folder, privacy):
    (folder / "cells.csv").write_text(
        "cell\n" + "\n".join(f'"{k // SIDE},{k % SIDE}"' for k in range(SIDE**2))
    )
    content = {
        "name": "who-is-where",
        "events": {"source": "events.parquet", "person": "card"},
        "dimensions": {
            "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-25"},
            "time": {"column": "at", "every": "1h"},
            "cell": {"column": "cell", "values": "cells.csv"},
        },
        "tables": {"where": ["date", "time", "cell"]},
        "privacy": privacy,
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(content))
    return folder / "spec.yaml"


def test_assess_follows_people_through_exact_counts_and_not_through_a_person_day_release(tmp_path):
    ways = walkers(12, 24, np.random.default_rng(0))
    write_events(tmp_path / "events.parquet", ways, datetime(2016, 7, 25))  # noqa: DTZ001 - wall clock
    rows = [
        f'2016-07-25,{hour:02d}:00,"{k // SIDE},{k % SIDE}",{n}\n'
        for hour, row in enumerate(counted(ways))
        for k, n in enumerate(row)
    ]
    (tmp_path / "exact.csv").write_text("date,time,cell,count\n" + "".join(rows))
    said = {"movement": True, "truth": tmp_path / "events.parquet", "person": "card", "attacker": None}
    found = noisegate.assess(tmp_path / "exact.csv", **said)
    (finding,) = [one for one in found.findings if one.id == "trajectories"]
    assert finding.severity == "high"
    assert finding.numbers["right"] > finding.baseline["right"] + 0.25
    privacy = {
        "unit": "person-day",
        "max_cells": 24,
        "epsilon": 2,
        "law": "discrete-laplace",
        "zeros": "perturb",
    }
    spec = release_spec(tmp_path, privacy)
    noisegate.release(
        spec, out=tmp_path / "released", entropy=SeededNoise(seed=1), ledger=tmp_path / "ledger.sqlite"
    )
    hidden = noisegate.assess(tmp_path / "released", **said)
    assert not [one for one in hidden.findings if one.id == "trajectories"]
    (check,) = [one for one in hidden.checks if one.id == "trajectories"]
    assert check.numbers["gain"] < 0.05


def test_taps_are_not_people_who_are_there(tmp_path):
    rng = np.random.default_rng(5)
    rows = [
        f"2016-07-25,{h:02d}:00,stop {k},{rng.poisson(4 + 20 * (h == 8))}\n"
        for h in range(24)
        for k in range(9)
    ]
    (tmp_path / "taps.csv").write_text("date,time,stop,count\n" + "".join(rows))
    found = noisegate.assess(tmp_path / "taps.csv", movement=True, attacker=None)
    (check,) = [one for one in found.checks if one.id == "trajectories"]
    assert check.outcome == "cannot tell"
    assert "not the same people throughout" in check.title
