"""Figures that were claimed once and must stay true."""

import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from noisegate import Mechanism, delta, make_law
from noisegate.releases import make_plan
from noisegate.spec import parse_spec


def week(**privacy):
    return parse_spec(
        {
            "name": "week",
            "events": {"source": "e.csv", "person": "card"},
            "dimensions": {
                "mode": {"column": "mode", "values": ["train", "bus", "ferry", "lightrail"]},
                "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-31"},
                "time": {"column": "at", "every": "15min"},
                "stop": {"column": "stop", "values": [f"s{n}" for n in range(60)]},
            },
            "tables": {
                "base": ["mode", "date", "time", "stop"],
                "time": ["mode", "date", "time"],
                "stop": ["mode", "date", "stop"],
            },
            "privacy": {
                "unit": "person",
                "max_cells": 40,
                "law": "discrete-gaussian",
                "delta": "1e-6",
                **privacy,
            },
        },
        folder=Path(),
    )


def test_gaussian_noise_is_split_by_its_own_law():
    # With the shares of Laplace noise the base had a standard deviation of 145; 36 was asked for.
    plan = make_plan(week(epsilon="1"))
    assert plan.charged.epsilon == 1
    assert plan.charged.delta <= Fraction(1, 10**6)
    assert math.sqrt(plan.base.noise.law.variance) <= 36


def test_wide_noise_is_planned_in_seconds():
    start = time.process_time()
    plan = make_plan(week(epsilon="1/20"))
    assert float(plan.base.noise.scale) > 400
    assert time.process_time() - start < 15


def test_delta_looks_at_a_zero_that_becomes_a_count():
    # Gaussian 0.9, cut at 1 before rounding, zeros perturbed, change 2, epsilon 0.1: at least 0.7195 by the pair (0, 2).
    mechanism = Mechanism(
        law=make_law("gaussian", scale=0.9),
        threshold=1,
        rule="ge",
        rounding="nearest",
        cut="before",
        zeros="perturb",
    )
    found = float(delta(mechanism, 0.1, change=2))
    rng = np.random.default_rng(1)

    def shown(count):
        noisy = count + rng.normal(scale=0.9, size=2_000_000)
        return np.where(noisy >= 1, np.rint(noisy), -99)

    with_two, without = (
        np.array([(one == v).mean() for v in (-99, *range(30))]) for one in (shown(2), shown(0))
    )
    drawn = np.maximum(with_two - math.exp(0.1) * without, 0).sum()
    assert found == pytest.approx(drawn, abs=0.003)
    assert found >= 0.71945
