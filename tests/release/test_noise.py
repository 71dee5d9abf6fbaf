"""The noise that is published follows the law and the scale on the card; intervals cover what they say.

On a table with at least 25 events in every cell nothing is cut or made non-negative, so differences
from the truth are noise and nothing else. Each test has a size and a power.
"""

import math

import numpy as np
import pytest
from scipy import stats

from noisegate.engine import count
from noisegate.laws import OsNoise, make_law
from noisegate.releases import make_plan, publish_tables

SIZE, POWER = 1e-9, 1e-9


def errors(made, truth, name):
    """Published minus raw, in the order of the domain."""
    rows = made.csv[name]
    assert len(rows) == truth[name].size
    return np.array([value for _, value in rows]) - truth[name].ravel()


def law_p(drawn, law):
    """Chi-square of whole numbers against a law, tails pooled."""
    edge = int(3 * math.sqrt(law.variance))
    inner = np.arange(-edge, edge + 1)
    shares = np.concatenate(
        [[np.exp(law.logcdf(-edge - 1))], np.exp(law.logpmf(inner)), [np.exp(law.logsf(edge))]]
    )
    seen = np.bincount(np.clip(drawn, -edge - 1, edge + 1) + edge + 1, minlength=len(shares))
    return float(stats.chisquare(seen, shares / shares.sum() * len(drawn)).pvalue)


def check_law(drawn, noise):
    """The law of the card is accepted; one whose scale is 10 % off is not."""
    assert law_p(drawn, make_law(noise["law"], scale=noise["scale"])) > SIZE
    for off in (0.9, 1.1):
        assert law_p(drawn, make_law(noise["law"], scale=off * noise["scale"])) < POWER


@pytest.mark.parametrize(
    "privacy",
    [
        {"unit": "event", "scale": "1.4", "law": "laplace", "margins": "derive"},
        {"unit": "event", "epsilon": "1/2", "margins": "derive"},
        {"unit": "person-day", "max_cells": 96, "epsilon": "48", "margins": "derive"},
        {"unit": "person-day", "max_cells": 96, "epsilon": "4", "delta": "1e-6", "law": "discrete-gaussian", "margins": "derive"},
    ],
    ids=["laplace", "discrete-laplace", "person-day", "gaussian"],
)  # fmt: skip
def test_the_base_has_the_noise_of_the_card(privacy, planted, make):
    made = make(planted.spec(privacy, budget={"dataset": "planted", "epsilon": "100"}))
    noise = made.card["tables"]["base"]["noise"]
    check_law(errors(made, planted.truth, "base"), noise)
    assert noise["scale"] == pytest.approx(float(make_plan(planted.spec(privacy)).base.noise.scale))


@pytest.mark.parametrize("law", ["laplace", "discrete-laplace"])
def test_the_recipe_of_2016_has_the_noise_of_2016(law, planted, make):
    """All counts are far above 18, so nothing is suppressed, and each table has noise of its own."""
    privacy = {
        "unit": "event", "scale": "1.4", "law": law, "zeros": "keep", "margins": "independent",
        "suppress": {"below": 9}, "unsafe": "true",
    }  # fmt: skip
    made = make(planted.spec(privacy, budget={"epsilon": "100", "delta": "1/2"}))
    noise = made.card["tables"]["base"]["noise"]
    assert noise["law"] == {"laplace": "rounded-laplace"}.get(law, law)
    assert noise["scale"] == 1.4
    base = errors(made, planted.truth, "base")
    check_law(base, noise)
    time, loc = errors(made, planted.truth, "time"), errors(made, planted.truth, "loc")
    assert law_p(np.concatenate([time, loc]), make_law(noise["law"], scale=1.4)) > SIZE
    assert not np.array_equal(time, base.reshape(3, 96, 80).sum(axis=2).ravel())


def test_every_release_draws_anew(planted, make, tmp_path):
    spec = planted.spec({"unit": "event", "epsilon": "1", "margins": "derive"})
    one, other = (make(spec, out=tmp_path / name).csv["base"] for name in ("one", "other"))
    assert 0.5 < np.mean([a != b for a, b in zip(one, other, strict=True)]) < 1


@pytest.mark.parametrize("margins", ["reconcile", "derive", "independent"])
def test_the_interval_on_the_card_covers(margins, planted):
    """95 % of the published values lie within the half-width of the card, table by table, over 30 releases."""
    privacy = {"unit": "event", "epsilon": "1", "margins": margins, "unsafe": "true"}
    spec = planted.spec(privacy)
    plan, counts = make_plan(spec), count(spec, entropy=OsNoise())
    inside = {table.name: [] for table in plan.tables}
    narrow = {table.name: [] for table in plan.tables}
    for _ in range(30):
        for name, made in publish_tables(plan, counts, entropy=OsNoise()).items():
            off = np.abs(made.values - planted.truth[name].ravel())
            half = next(table.error.half_width for table in plan.tables if table.name == name)
            inside[name].append(np.mean(off <= half))
            narrow[name].append(np.mean(off <= math.floor(0.75 * half)))
    for table in plan.tables:
        covered, cut = np.array(inside[table.name]), np.array(narrow[table.name])
        error = covered.std(ddof=1) / math.sqrt(len(covered)) + 1e-3
        assert covered.mean() > 0.95 - 5 * error, table.name
        assert covered.mean() < 0.985, table.name
        assert cut.mean() < 0.95 - 5 * error, table.name


@pytest.mark.parametrize("margins", ["reconcile", "derive", "independent"])
def test_the_expected_error_on_the_card_is_the_error(margins, planted):
    privacy = {"unit": "event", "epsilon": "1", "margins": margins, "unsafe": "true"}
    spec = planted.spec(privacy)
    plan, counts = make_plan(spec), count(spec, entropy=OsNoise())
    made = [publish_tables(plan, counts, entropy=OsNoise()) for _ in range(30)]
    for table in plan.tables:
        off = np.array([one[table.name].values - planted.truth[table.name].ravel() for one in made])
        means = np.abs(off).mean(axis=1)
        error = 6 * means.std(ddof=1) / math.sqrt(len(means)) + 0.01 * table.error.expected_absolute
        assert abs(means.mean() - table.error.expected_absolute) < error
        assert abs(off.mean()) < 6 * off.mean(axis=1).std(ddof=1) / math.sqrt(len(means)) + 1e-3  # no bias


def test_reconciled_margins_are_better_than_derived_ones_at_equal_cost(planted):
    figures = {}
    for margins in ("reconcile", "derive"):
        privacy = {"unit": "person-day", "max_cells": 96, "epsilon": "10", "margins": margins}
        plan = make_plan(planted.spec(privacy))
        figures[margins] = {table.name: table.error.expected_absolute for table in plan.tables}
    assert figures["reconcile"]["time"] < 0.7 * figures["derive"]["time"]
    assert figures["reconcile"]["loc"] < 0.7 * figures["derive"]["loc"]


@pytest.mark.parametrize("margins", ["derive", "reconcile", "independent"])
@pytest.mark.parametrize("unit", ["event", "person-day", "person"])
def test_with_next_to_no_noise_the_true_counts_come_out(unit, margins, spec_of, truth_of, most_cells, make):
    """At scale 1/40 noise is 0 but once in 10^17: every table is then the count of its unit, exactly."""
    bound = {} if unit == "event" else {"max_cells": most_cells}  # nobody has more, so nothing is taken away
    privacy = {"unit": unit, "scale": "1/40", "margins": margins, "unsafe": "true", **bound}
    tables = {"base": ["mode", "date", "time"], "modes": ["mode", "date"], "times": ["date", "time"]}
    made = make(spec_of(privacy, every="6h", tables=tables, budget={"dataset": "taps", "epsilon": "1e6"}))
    for name, dimensions in tables.items():
        truth = truth_of(dimensions, base=tables["base"], unit=unit, minutes=360)
        assert len(made.csv[name]) == made.card["tables"][name]["cells"]
        assert {labels: value for labels, value in made.csv[name] if value} == dict(truth)
    assert made.result.tally.beyond == 0
    assert (made.result.tally.repeated > 1000) == (unit != "event")  # on and off in six hours: once
