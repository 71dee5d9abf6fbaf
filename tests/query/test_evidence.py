"""What margins say of each other's missing rows, against plain sums of counts that are known."""

import numpy as np
import pytest

from noisegate.inference import AT_MOST, EQUAL, Evidence, Layout, NoisySums, Observation, RowMap
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.tables import Dimension, Domain, Margin

LAW = DiscreteLaplace(2.0)


def observed(name, margin, values, there):
    return Observation(
        name=name,
        values=np.where(there, values, np.nan),
        mechanism=Mechanism(law=LAW, threshold=10, rule="ge", zeros="perturb"),
        rows=None if margin is None else RowMap.between(margin),
    )


@pytest.fixture(params=[False, True], ids=["independent", "consistent"])
def evidence(request):
    """Counts by day, time and stop without any noise, some rows of each table missing; and the counts."""
    rng = np.random.default_rng(3)
    domain = Domain.product(
        [
            Dimension(name=name, values=tuple(f"{name}{n}" for n in range(size)))
            for name, size in (("day", 3), ("time", 8), ("stop", 5))
        ]
    )
    counts = rng.poisson(6.0, domain.size)
    margins = []
    for name, names in (("times", ["day", "time"]), ("stops", ["day", "stop"])):
        margin = Margin.over(domain, names)
        sums = np.bincount(margin.of(np.arange(domain.size)), weights=counts, minlength=margin.domain.size)
        there = rng.random(margin.domain.size) < 0.6
        margins.append(observed(name, margin, sums, there))
    base = observed("base", None, counts, rng.random(domain.size) < 0.3)
    known = Evidence(layout=Layout.of(domain), base=base, margins=tuple(margins), consistent=request.param)
    return known, counts


def of_both_signs(sums, counts):
    """Each sum less the cells that count against it."""
    more, less = (
        np.bincount(codes[codes >= 0], weights=counts[codes >= 0], minlength=len(sums.seen))
        for codes in (sums.codes, sums.less)
    )
    return more - less


def test_differences_of_margins_are_sums_of_what_they_lack(evidence):
    known, counts = evidence
    cells = np.arange(len(counts))
    hidden = ~known.base.shown(cells)
    for sums, inside in (
        *((one, np.ones(len(counts), bool)) for one in known.wide_sums(cells) if one.less is not None),
        *((one, hidden) for one in known.left_over(cells) if one.less is not None),
    ):
        assert (sums.codes >= 0).any()
        assert not (sums.codes[~inside] >= 0).any()
        assert not ((sums.codes >= 0) & (sums.less >= 0)).any()
        assert sums.seen == pytest.approx(of_both_signs(sums, counts))
        assert (sums.variance > 0).all()


def test_what_counts_against_a_sum_is_expected_and_uncertain():
    sums = NoisySums(
        codes=np.array([0, 0, -1]),
        seen=np.array([20.0]),
        variance=np.array([4.0]),
        side=np.full(1, EQUAL, np.int8),
        less=np.array([-1, -1, 0]),
    )
    settled = sums.settled(np.array([1.0, 2.0, 5.0]))
    assert (settled.seen[0], settled.variance[0], settled.less) == (25.0, 29.0, None)
    assert settled.settled(np.zeros(3)) is settled


def test_a_bound_speaks_only_where_it_is_crossed():
    sums = NoisySums(
        codes=np.zeros(0, int),
        seen=np.full(2, 10.0),
        variance=np.ones(2),
        side=np.array([EQUAL, AT_MOST], np.int8),
    )
    assert sums.speaks(np.full(2, 12.0)).tolist() == [True, True]
    assert sums.speaks(np.full(2, 8.0)).tolist() == [True, False]
