"""Worlds with known truth, slow oracles and Hypothesis strategies, for our tests and for yours.

`worlds` makes linked tables of any shape in ten lines, `city` those of a city as published in 2016, `oracles` the slow and
plain way to the same numbers. `strategies` is not loaded here: it needs Hypothesis.
"""

from __future__ import annotations

from noisegate.testing.city import BINS, CITY, CityTruth, ModePlan, simulate_tables
from noisegate.testing.oracles import enumerate_exact, listed_likelihood, simulated_widths
from noisegate.testing.worlds import (
    BASE,
    COUNT_LAWS,
    LinkedWorld,
    make_world,
    publish_counts,
    recipe_2016,
)

__all__ = [
    "BASE",
    "BINS",
    "CITY",
    "COUNT_LAWS",
    "CityTruth",
    "LinkedWorld",
    "ModePlan",
    "enumerate_exact",
    "listed_likelihood",
    "make_world",
    "publish_counts",
    "recipe_2016",
    "simulate_tables",
    "simulated_widths",
]
