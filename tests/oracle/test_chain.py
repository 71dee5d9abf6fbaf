"""The engine beside a Markov chain that knows the law of the counts; and the chain beside enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from noisegate.inference import NegativeBinomial
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import (
    BASE,
    WAYS,
    Scoreboard,
    Tallied,
    ask_world,
    enumerate_exact,
    make_world,
    run_chain,
)

LONG = 160
COUNTS = np.arange(LONG)


def small_world(seed):
    return make_world(
        {"row": 2, "column": 2},
        margins={"by row": ["row"], "by column": ["column"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.0), threshold=4, rule="ge", zeros="perturb"),
        mean=3.0,
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_chain_is_the_posterior(seed):
    world = small_world(seed)
    law = NegativeBinomial(mean=np.full(4, 3.0), shape=np.full(4, 1.5), zero_share=np.zeros(4))
    exact = enumerate_exact(world.problem(), prior=law)
    prior = stats.nbinom(1.5, 1.5 / 4.5).logpmf(np.arange(60))
    chain = run_chain(
        world.problem(), log_prior=prior, start=world.counts, rng=np.random.default_rng(seed), sweeps=40_000
    ).cells(0.95)
    np.testing.assert_allclose(chain.mean, exact.mean, atol=0.05)
    np.testing.assert_allclose(chain.sd, exact.sd, rtol=0.03)
    np.testing.assert_allclose(chain.p_zero, exact.p_zero, atol=0.01)


def test_a_chain_of_another_law_would_be_noticed():
    """The test has power: with twice the mean beforehand, what is found is another posterior."""
    world, found = small_world(1), []
    for mean in (3.0, 6.0):
        prior = stats.nbinom(1.5, 1.5 / (1.5 + mean)).logpmf(np.arange(60))
        rng = np.random.default_rng(1)
        found.append(
            run_chain(world.problem(), log_prior=prior, start=world.counts, rng=rng).cells(0.95).mean
        )
    assert np.abs(found[0] - found[1]).max() > 0.1


#: Laws that are the same for every cell, each with a way of publishing.
WORLDS = {
    "negative binomial": ("as in 2016", stats.nbinom(1.0, 1 / 11).logpmf(COUNTS)),
    "uniform": ("independent", np.where(COUNTS <= 40, -np.log(41.0), -np.inf)),
    "two-humped": (
        "gaussian",
        np.logaddexp(stats.poisson(2).logpmf(COUNTS), stats.poisson(30).logpmf(COUNTS)) - np.log(2),
    ),
    "full or empty": (
        "independent",
        np.logaddexp(
            np.where(COUNTS == 0, np.log(0.5), -np.inf), np.log(0.5) + stats.poisson(20).logpmf(COUNTS)
        ),
    ),
}


def beside(law, *, replicates, first=(20160725,), rows=14, columns=10, sweeps=3_000):
    """Scores of hidden cells by the engine, and by the chain that knows the law, in so many worlds of each first seed."""
    way, prior = WORLDS[law]
    boards = {"engine": Scoreboard(), "chain": Scoreboard()}
    for start, seed in product(first, range(replicates)):
        rng = np.random.default_rng([start, list(WORLDS).index(law), seed])
        p = np.exp(prior)
        world = make_world(
            {"row": rows, "column": columns},
            margins={"by-row": ["row"], "by-column": ["column"]},
            mechanism={BASE: WAYS[way].base, "by-row": WAYS[way].margin, "by-column": WAYS[way].margin},
            counts=rng.choice(LONG, rows * columns, p=p / p.sum()),
            rng=rng,
        )
        chain = run_chain(world.problem(), log_prior=prior, start=world.counts, rng=rng, sweeps=sweeps)
        for name, one in (("engine", world.engine()), ("chain", chain)):
            boards[name].add(law, way, ask_world(world, one, rng=np.random.default_rng(seed), draws=0))
    return {name: board.tally(kind="cells") for name, board in boards.items()}


@pytest.mark.parametrize("law", WORLDS)
def test_the_chain_itself_is_calibrated(law):
    """Somebody who knows the law covers what is claimed: size; its score is the mark."""
    found: Tallied = beside(law, replicates=1, sweeps=600)["chain"]
    assert found.held >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("law", WORLDS)
def test_the_engine_is_near_one_who_knows_the_law(law):
    """Interval score of hidden cells within 10 %, log score of "empty?" within 0.05 nats, in 40 worlds."""
    found = beside(law, replicates=20, first=(20160725, 777))
    assert found["engine"].score <= 1.10 * found["chain"].score
    assert found["engine"].empty <= found["chain"].empty + 0.05
