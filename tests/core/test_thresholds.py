"""Where a table was cut: right on simulated tables, honest where the data cannot tell."""

import doctest

import numpy as np
import pytest
from scipy.stats import binomtest

from noisegate.errors import DataError
from noisegate.mechanisms import Reading, Threshold, find_threshold, thresholds

SCALE = 1.4


def pareto(rng, n):
    return np.floor(rng.pareto(1.0, n) * 8 + 1)


def lognormal(rng, n):
    return np.floor(rng.lognormal(2.5, 1.6, n))


def overdispersed(rng, n):
    return rng.negative_binomial(0.5, 0.5 / 40.5, n).astype(float)


HEAVY_TAILED = [pareto, lognormal, overdispersed]


def cut_table(rng, raw, *, n, value, how):
    """`n` published rows of the 2016 recipe; `how` names the rule and when it is cut."""
    rows = np.empty(0)
    while rows.size < n:
        counts = raw(rng, 4 * n)
        noisy = counts[counts > 0] + rng.laplace(0, SCALE, np.count_nonzero(counts > 0))
        if how == "gt before":
            rows = np.append(rows, np.rint(noisy[noisy > value]))
        elif how == "ge after":
            rows = np.append(rows, np.rint(noisy)[np.rint(noisy) >= value])
        else:
            rows = np.append(rows, np.rint(noisy)[np.rint(noisy) > value])
    return rows[:n]


UNCUT = {
    "wide": lambda rng, n: rng.lognormal(6, 1, n) + rng.laplace(0, SCALE, n),
    "narrow": lambda rng, n: rng.lognormal(4, 0.5, n) + rng.laplace(0, SCALE, n),
    "one size": lambda rng, n: rng.poisson(50, n) + rng.laplace(0, SCALE, n),
    "humped": lambda rng, n: rng.gamma(3, 30, n) + rng.laplace(0, SCALE, n),
    "small counts with noise": lambda rng, n: pareto(rng, n) + rng.laplace(0, SCALE, n),
    "zeros and all": overdispersed,
    "clipped at zero": lambda rng, n: np.maximum(overdispersed(rng, n) + rng.laplace(0, SCALE, n), 0),
    "from one on": lambda rng, n: 1 + overdispersed(rng, n),
}


def found(rng, *, replicates, sizes):
    """Whether each simulated cut was found at its place, and how sure the finder was."""
    right, sure = [], []
    for _ in range(replicates):
        for raw in HEAVY_TAILED:
            how = str(rng.choice(["ge after", "gt before", "gt after"]))
            value = int(rng.choice([5, 18, 35]))
            cut = find_threshold(cut_table(rng, raw, n=int(rng.choice(sizes)), value=value, how=how))
            right.append(cut.value == value + (how == "gt after"))
            sure.append(cut.sure)
    return np.array(right), np.array(sure)


def test_cuts_are_found_where_they_were_made():
    right, sure = found(np.random.default_rng(11), replicates=40, sizes=[200, 1_000, 5_000, 50_000])
    assert right.mean() >= 0.95
    # It knows when it does not know: what it calls sure is right about that often.
    assert binomtest(int(right.sum()), right.size, min(float(sure.mean()), 1.0)).pvalue > 1e-3


def test_tables_without_a_cut_are_left_alone():
    rng = np.random.default_rng(12)
    tables = [draw(rng, int(n)) for draw in UNCUT.values() for n in np.tile([200, 1_000, 5_000], 5)]
    silent = [find_threshold(np.rint(table)).value is None for table in tables]
    assert np.mean(silent) >= 0.95
    # The smallest count alone would have called most of these a cut.
    assert np.mean([np.rint(table).min() > 1 for table in tables]) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1_000, 10_000, 50_000])
def test_calibration_at_length(rows):
    rng = np.random.default_rng(rows)
    right, _ = found(rng, replicates=100, sizes=[rows])
    assert right.mean() >= 0.95
    silent = [
        find_threshold(np.rint(draw(rng, rows))).value is None for draw in UNCUT.values() for _ in range(30)
    ]
    assert np.mean(silent) >= 0.95


@pytest.mark.parametrize("how", ["ge after", "gt before", "gt after"])
def test_the_rule_shows_in_the_height_of_the_edge(how):
    rng = np.random.default_rng(13)
    cut = find_threshold(cut_table(rng, pareto, n=30_000, value=18, how=how))
    expected = {
        "ge after": (18, "ge", "after"),
        "gt before": (18, "gt", "before"),
        "gt after": (19, "ge", "after"),
    }
    assert (cut.value, cut.rule, cut.cut) == expected[how]
    assert cut.sure > 0.999
    assert cut.fill == pytest.approx(0.5 if how == "gt before" else 1.0, abs=0.1)


def test_a_few_rows_below_do_not_hide_the_cut():
    rng = np.random.default_rng(14)
    table = np.append(cut_table(rng, pareto, n=5_000, value=18, how="ge after"), [3.0, 9.0, 12.0])
    cut = find_threshold(table)
    assert (cut.value, cut.below) == (18, 3)
    assert "3 rows below it" in cut.evidence


def test_half_published_edge_offers_alternatives():
    """Four rows of 34 where thirteen are expected, as in the location table of 2016."""
    table = np.repeat(np.arange(34, 64), [4, *(13,) * 29])
    cut = find_threshold(table)
    readings = {(cut.value, cut.rule), *((c.value, c.rule) for c in cut.alternatives)}
    assert {(34.0, "gt"), (35.0, "ge")} <= readings
    assert cut.fill == pytest.approx(4 / 13, abs=0.1)
    assert 0.5 < cut.sure < 0.999


def test_zeros_kept_as_zeros_are_not_part_of_the_cut():
    rng = np.random.default_rng(15)
    table = np.append(cut_table(rng, pareto, n=2_000, value=18, how="ge after"), np.zeros(5_000))
    assert find_threshold(table).value == 18


def test_counts_rounded_to_a_base_are_cut_at_a_multiple_of_it():
    rng = np.random.default_rng(16)
    table = 5 * cut_table(rng, pareto, n=5_000, value=4, how="ge after")
    cut = find_threshold(table)
    assert (cut.value, cut.rule) == (20, "ge")


def test_counts_that_were_never_rounded():
    rng = np.random.default_rng(17)
    noisy = pareto(rng, 40_000) + rng.laplace(0, SCALE, 40_000)
    cut = find_threshold(noisy[noisy > 18])
    assert (cut.value, cut.cut) == (18, "before")
    assert find_threshold(noisy).value is None


def test_sums_of_published_counts_keep_the_threshold_of_their_parts():
    """Hours made of published quarters start at the same count, with a second hump at twice that."""
    rng = np.random.default_rng(18)
    quarters = np.rint(rng.gamma(0.6, 20, (20_000, 4)) + rng.laplace(0, SCALE, (20_000, 4)))
    hours = np.where(quarters >= 18, quarters, 0).sum(axis=1)
    assert find_threshold(hours[hours > 0]).value == 18


def test_few_rows_are_not_enough():
    for counts in ([20, 31, 44], range(20, 60, 3)):
        cut = find_threshold(list(counts))
        assert cut.value is None
        assert cut.sure < 0.9


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([], "0 rows are too few"),
        ([0] * 10, "zeros only"),
        ([-3, *range(5, 40)], "negative"),
        ([1, 1, 2, 3, 3, 5] * 2, "nothing is missing"),
    ],
)
def test_tables_that_cannot_have_a_cut(counts, words):
    cut = find_threshold(counts)
    assert (cut.value, cut.rule) == (None, None)
    assert words in cut.evidence


def test_counts_must_be_finite():
    with pytest.raises(DataError, match="finite numbers"):
        find_threshold([1.0, np.nan])


def test_json_holds_plain_values():
    cut = Threshold(
        value=18.0,
        rule="ge",
        cut="after",
        sure=1.0,
        evidence="seen",
        alternatives=(Reading(value=17.0, rule="gt", cut="before", probability=0.02),),
    )
    assert cut.to_json() == {
        "value": 18.0,
        "rule": "ge",
        "cut": "after",
        "sure": 1.0,
        "evidence": "seen",
        "below": 0,
        "fill": None,
        "alternatives": [{"value": 17.0, "rule": "gt", "cut": "before", "probability": 0.02}],
    }


def test_the_example_in_the_docstring():
    assert doctest.testmod(thresholds).failed == 0
