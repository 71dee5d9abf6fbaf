"""Coarse tables that are made whole first: which they are, and what they are good for."""

import importlib

import numpy as np
import pytest

from noisegate.laws import DiscreteLaplace
from noisegate.margins import Measurement, coarse_tables, reconcile, round_consistent

integers = importlib.import_module("noisegate.margins.integers")

AXES = ("mode", "day", "time", "stop")
TIME, STOP = AXES[:3], ("mode", "day", "stop")
SCALES = {AXES: 3.0, TIME: 9.0, STOP: 6.0}


def town(rng):
    """Three modes with stops of their own and unequal use, ten days alike, one pattern by time with quiet nights."""
    hour = np.arange(24)
    profile = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17) ** 2) / 6) + 0.003
    served = np.arange(30) % 3 == np.arange(3)[:, None]
    use = np.array([8.0, 2.0, 0.5])[:, None] * served * rng.gamma(2.0, 1.0, 30)
    return rng.poisson(use[:, None, None, :] * profile[:, None] * np.ones((1, 10, 1, 1)))


def estimated(rng, truth):
    parts = []
    for table, scale in SCALES.items():
        gone = tuple(place for place, axis in enumerate(AXES) if axis not in table)
        exact, law = truth.sum(axis=gone), DiscreteLaplace(scale)
        values = exact + law.sample(exact.size, rng=rng).reshape(exact.shape)
        parts.append(Measurement(axes=table, values=values, variance=law.variance))
    return reconcile(parts[0], parts[1:])


def tables_of(estimate, margins=(TIME, STOP)):
    return coarse_tables(estimate, margins, values_of=estimate.table)


def test_days_are_summed_and_modes_with_stops_of_their_own_are_not():
    rng = np.random.default_rng(1)
    found = tables_of(estimated(rng, town(rng)))
    # Modes share one pattern by time and differ in size, so they come back before the days do.
    assert {("time",), ("mode", "time"), ("mode", "stop")} <= set(found)
    assert ("stop",) not in found
    assert ("day", "time") not in found


def test_without_a_pattern_no_axis_is_left_out():
    rng = np.random.default_rng(2)
    found = tables_of(estimated(rng, np.zeros((3, 10, 24, 30), np.int64)))
    assert all("time" not in table and "stop" not in table for table in found)


def test_a_base_that_has_one_margin_or_none_gets_the_sums_that_it_lacks():
    rng = np.random.default_rng(3)
    estimate = estimated(rng, town(rng))
    assert ("mode", "stop") in tables_of(estimate, [TIME])
    assert ("time",) in tables_of(estimate, [STOP])
    found = tables_of(estimate, [])
    assert {("mode", "stop"), ("time",)} <= set(found)


@pytest.mark.parametrize(
    "margins",
    [
        [],
        [()],
        [("day",)],
        [("day", "stop")],
        [TIME],
        [("mode", "day"), ("day",)],
        [("time",), ("stop", "day")],
    ],
)
def test_all_sets_of_margins_can_still_be_rounded(margins):
    rng = np.random.default_rng(4)
    estimate = estimated(rng, town(rng))
    names = [estimate.design.shape.table(axes) for axes in margins]
    found = tables_of(estimate, names)
    assert not set(found) & {*names, AXES}
    tables = round_consistent(estimate, margins=margins)
    # Nothing but the total is rounded for itself, so no sum of many cells drifts.
    assert abs(int(tables.base.sum()) - estimate.base.sum()) < 1
    assert tables.base.min() >= 0


def night_errors(draws, margins):
    """Mean absolute errors of sums over nights and days (by mode), of stops over days, of margins and of cells."""
    rng = np.random.default_rng(5)
    truth = town(rng)
    sums = {
        "nights": lambda x: x[:, :, :5].sum(axis=(1, 2, 3)),
        "stops": lambda x: x.sum(axis=(1, 2)),
        "time": lambda x: x.sum(axis=3),
        "stop": lambda x: x.sum(axis=2),
        "cells": lambda x: x,
    }
    errors = {name: [] for name in sums}
    promised = []
    for _ in range(draws):
        estimate = estimated(rng, truth)
        found = round_consistent(estimate, margins=margins).base
        promised.append(np.abs(sums["nights"](estimate.base) - sums["nights"](truth)).mean())
        for name, of in sums.items():
            errors[name].append(np.abs(of(found) - of(truth)).mean())
    return {name: np.mean(values) for name, values in errors.items()}, np.mean(promised)


@pytest.mark.parametrize("margins", [(TIME, STOP), (TIME,), (STOP,), ()])
def test_sums_of_small_cells_have_no_more_error_than_least_squares_promises(monkeypatch, margins):
    with_them, promised = night_errors(20, margins)
    assert with_them["nights"] < promised
    monkeypatch.setattr(integers, "coarse_tables", lambda _estimate, _margins, **_values: ())
    without, same = night_errors(20, margins)
    assert same == promised
    if TIME not in margins or STOP in margins:
        assert without["nights"] > 1.5 * promised  # what they are good for
    for name, error in with_them.items():
        assert error <= 1.02 * without[name], name
    assert with_them["stops"] < 0.8 * without["stops"]
