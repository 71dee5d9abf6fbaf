"""Worlds with known truth, slow oracles and Hypothesis strategies, for our tests and for yours.

`worlds` makes linked tables of any shape in ten lines, `ways` publishes counts of any law as agencies do, `city` those of a city as published in 2016;
`scoring` and `scoreboard` judge an engine on them; `oracles` are the slow and plain way to the same numbers. `strategies` is not loaded here: it
needs Hypothesis.
"""

from __future__ import annotations

from noisegate.testing.cell_scores import Score
from noisegate.testing.city import BINS, CITY, CityTruth, ModePlan, simulate_tables
from noisegate.testing.count_laws import COUNT_LAWS, CROSSED_LAWS, SPARSE_LAWS
from noisegate.testing.mcmc import ChainPosterior, run_chain
from noisegate.testing.oracles import enumerate_exact, from_residual, listed_likelihood, simulated_widths
from noisegate.testing.scoreboard import HEAD, SHARPEST, SURE, Scoreboard, Tallied, run_cases
from noisegate.testing.scoring import (
    ASKED,
    BANDS,
    HIDDEN,
    KINDS,
    LEVELS,
    Answering,
    Replies,
    ask_world,
    random_boxes,
)
from noisegate.testing.ways import (
    CASES,
    WAYS,
    Way,
    can_be_published,
    publish_case,
    publish_world,
    release_world,
)
from noisegate.testing.worlds import BASE, LinkedWorld, make_world, publish_counts, recipe_2016

__all__ = [
    "ASKED",
    "BANDS",
    "BASE",
    "BINS",
    "CASES",
    "CITY",
    "COUNT_LAWS",
    "CROSSED_LAWS",
    "HEAD",
    "HIDDEN",
    "KINDS",
    "LEVELS",
    "SHARPEST",
    "SPARSE_LAWS",
    "SURE",
    "WAYS",
    "Answering",
    "ChainPosterior",
    "CityTruth",
    "LinkedWorld",
    "ModePlan",
    "Replies",
    "Score",
    "Scoreboard",
    "Tallied",
    "Way",
    "ask_world",
    "can_be_published",
    "enumerate_exact",
    "from_residual",
    "listed_likelihood",
    "make_world",
    "publish_case",
    "publish_counts",
    "publish_world",
    "random_boxes",
    "recipe_2016",
    "release_world",
    "run_cases",
    "run_chain",
    "simulate_tables",
    "simulated_widths",
]
