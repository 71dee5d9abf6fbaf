"""Figures of others: what was printed about mobility flows, page views, a census and the release of 2016 itself, recomputed.

Every figure is quoted from public material that `where` names. Where the makers' own figures are not at hand, the item says so.
"""

from __future__ import annotations

import math

from noisegate.laws import Gaussian, Laplace, RandomRounding
from noisegate.mechanisms import Contribution, Mechanism, certainty, delta, epsilon, success_bound
from noisegate.reproduction.item import Item

_CRITIQUE = "Houssiau, Rocher, de Montjoye, Nature Communications 13:29 (2022)"
_REPLY = "Bassolas and others, reply in Nature Communications 13 (2022)"
_WIKIMEDIA = "Wikimedia Foundation, country_project_page, README (2023)"
_CENSUS = "Statistics New Zealand, Urban and rural profile: random rounding"

#: The noise and threshold of the flows, and trips of one author in a week.
_EPSILON, _LEAST, _TRIPS = 0.66, 100, 32
#: The budget of page views, views that count of one device in a day, the threshold, delta, and rows of the key space.
_RHO, _VIEWS, _CUT, _DELTA, _ROWS = 0.015, 10, 90, 1e-7, 125_000_000


def more_items() -> list[Item]:
    """Figures of other releases, and of the other side of the story."""
    return [*_flows(), *_page_views(), *_census(), *_makers()]


def _flows() -> list[Item]:
    flows = Mechanism(law=Laplace(1 / _EPSILON), zeros="perturb")
    cut = Mechanism(law=Laplace(1 / _EPSILON), threshold=_LEAST, rule="ge", zeros="keep")
    one = certainty([Contribution(mechanism=flows, cells=1)]).upper
    many = certainty([Contribution(mechanism=flows, cells=_TRIPS)]).upper
    exact_delta = float(delta(cut, _EPSILON))
    return [
        Item(
            id="flows-gain",
            where=f"{_CRITIQUE}, and {_REPLY}",
            claim="At epsilon 0.66 an attacker's certainty rises over a random guess by at most about 16 %",
            printed="16 %",
            formula=success_bound(_EPSILON) - 0.5,
            exact=one - 0.5,
            verdict="agrees" if f"{success_bound(_EPSILON) - 0.5:.0%}" == "16%" else "wrong",
            note="True of one trip, and a bound: of one count with Laplace noise the best test gains 14.1 points.",
        ),
        Item(
            id="flows-32-trips",
            where=_CRITIQUE,
            claim="Of somebody with 32 unique trips in a week the attacker is certain to 95.4 %",
            printed="95.4 %",
            formula=None,
            exact=many,
            verdict="agrees" if f"{many:.1%}" == "95.4%" else "wrong",
            note="Off by a tenth of a point: the exact success of the best test is 95.5 %. How the printed figure was worked out is not at hand; an attack that is played out is right a little less often than the best test.",
        ),
        Item(
            id="flows-typical",
            where=_CRITIQUE,
            claim="For a typical user the certainty is likely higher than 90 %",
            printed="above 90 %",
            formula=None,
            exact={"trips from which on it is above 90 %": _trips_for(flows, 0.9)},
            verdict="not told",
            note="It passes 90 % from the stated number of unique trips a week on; how many a typical user makes is not at hand.",
        ),
        Item(
            id="flows-delta",
            where=f"{_CRITIQUE}, quoting Bassolas and others (2019)",
            claim="Delta is 2.1 x 10^-29 at epsilon 0.66, where flows below 100 are removed after noise",
            printed=2.1e-29,
            formula=0.5 * math.exp(-_EPSILON * (_LEAST - 1)),
            exact=exact_delta,
            verdict="agrees" if f"{exact_delta:.1e}" == "2.1e-29" else "wrong",
            note="The chance that a single trip in an otherwise empty flow passes 100; of one trip only.",
        ),
        Item(
            id="flows-atlanta",
            where=_CRITIQUE,
            claim="46,333 flows of at least 100 trips each need at least 4.6 million trips",
            printed="4.6 million",
            formula=None,
            exact=46_333 * _LEAST,
            verdict="agrees" if f"{46_333 * _LEAST / 1e6:.1f}" == "4.6" else "wrong",
            note="Published counts carry noise with a mean of zero, which does not matter for the sum.",
        ),
        Item(
            id="flows-unit",
            where=_REPLY,
            claim="What epsilon 0.66 protects is one trip from A to B in a week, not a person's part of the data",
            printed="a trip",
            formula=None,
            exact={"epsilon of 32 trips": _TRIPS * _EPSILON, "right about them": many},
            verdict="agrees",
            note="Both sides agree on the mathematics: the promise is for an event, and the person has 32.",
        ),
    ]


def _trips_for(mechanism: Mechanism, wanted: float, /) -> int:
    return next(
        k for k in range(1, 101) if certainty([Contribution(mechanism=mechanism, cells=k)]).lower > wanted
    )


def _page_views() -> list[Item]:
    shift = math.sqrt(2 * _RHO)
    pooled = Mechanism(law=Gaussian(1 / shift), zeros="perturb")
    sigma = math.sqrt(_VIEWS / (2 * _RHO))
    passed = math.exp(float(Gaussian(sigma).logsf(_CUT)))
    tight = float(epsilon(pooled, _DELTA))
    usual = _RHO + 2 * math.sqrt(_RHO * math.log(1 / _DELTA))
    return [
        Item(
            id="views-epsilon",
            where=_WIKIMEDIA,
            claim="rho = 0.015 is roughly equivalent to epsilon = 1, delta = 1e-07",
            printed=1,
            formula=usual,
            exact=tight,
            verdict="agrees" if f"{usual:.1f}" == "1.0" else "wrong",
            note="By the usual conversion 0.998; the exact curve of Gaussian noise has 0.80 at this delta.",
        ),
        Item(
            id="views-noise",
            where=_WIKIMEDIA,
            claim="rho = 0.015 and noise scale 10, with the first 10 views of a device and day",
            printed=10,
            formula=None,
            exact={
                "standard deviation for rho = 0.015": sigma,
                "rho of a standard deviation of 10": _VIEWS / (2 * 10**2),
            },
            verdict="not told",
            note=(
                "Ten views, one in each of ten counts, need a standard deviation of 18.3 for rho = 0.015; one of 10 would be rho = 0.05. "
                "What is called noise scale there is not said, so this is no contradiction, and no confirmation."
            ),
        ),
        Item(
            id="views-threshold",
            where=_WIKIMEDIA,
            claim="Only rows above 90 views are published, of about 125 million possible ones",
            printed=_CUT,
            formula=None,
            exact={
                "an empty row passes with probability": passed,
                "empty rows that pass, a day": passed * _ROWS,
            },
            verdict="not told",
            note="No figure is printed to compare with. With noise of 18.3 some fifty empty rows a day are published; with noise of 10 none. Zeros carry noise, so the threshold hides and does not protect.",
        ),
        Item(
            id="views-certainty",
            where=_WIKIMEDIA,
            claim="rho = 0.015 for the first ten views of a device and day",
            printed=_RHO,
            formula=None,
            exact={
                "right about a day": certainty([Contribution(mechanism=pooled, cells=1)]).upper,
                "by guessing": 0.5,
            },
            verdict="not told",
            note="No attacker figure is printed; this is what the printed budget means: 53.5 of 100, beside 50.",
        ),
    ]


def _census() -> list[Item]:
    law = RandomRounding(3)
    up, down = (math.exp(float(law.at(17).logpmf(step))) for step in (1, -2))
    stay = [math.exp(float(law.at(count).logpmf(0))) for count in (0, 3, 18)]
    rounded = Mechanism(law=law, zeros="perturb")
    one = certainty([Contribution(mechanism=rounded, cells=1)]).upper
    return [
        Item(
            id="census-17-up",
            where=_CENSUS,
            claim="A count of 17 is rounded to 18 with a probability of 2/3",
            printed="2/3",
            formula=None,
            exact=up,
            verdict="agrees" if math.isclose(up, 2 / 3) else "wrong",
            note="",
        ),
        Item(
            id="census-17-down",
            where=_CENSUS,
            claim="A count of 17 is rounded to 15 with a probability of 1/3",
            printed="1/3",
            formula=None,
            exact=down,
            verdict="agrees" if math.isclose(down, 1 / 3) else "wrong",
            note="",
        ),
        Item(
            id="census-unbiased",
            where=_CENSUS,
            claim="15 x 1/3 + 18 x 2/3 = 17: the expected value is the count",
            printed=17,
            formula=15 / 3 + 18 * 2 / 3,
            exact=15 * down + 18 * up,
            verdict="agrees" if math.isclose(15 * down + 18 * up, 17) else "wrong",
            note="",
        ),
        Item(
            id="census-multiples",
            where=_CENSUS,
            claim="Zero counts and multiples of three are left unchanged",
            printed="unchanged",
            formula=None,
            exact=stay,
            verdict="agrees" if all(math.isclose(one, 1.0) for one in stay) else "wrong",
            note=f"So of a count at a multiple one more person shows with probability 1/3, and the best test is right {100 * one:.1f} times in 100; no epsilon bounds it.",
        ),
    ]


def _makers() -> list[Item]:
    return [
        Item(
            id="makers-algorithm",
            where="Asghar, Tyler, Kaafar, Differentially Private Release of Public Transport Data: The Opal Use Case, arXiv 1705.05957",
            claim="The makers' own statement of their algorithm and of its epsilon and delta",
            printed=None,
            formula=None,
            exact=None,
            verdict="not told",
            note="Its abstract names a differentially private algorithm for two weeks of taps; its figures were not at hand here, and none is invented.",
        ),
        Item(
            id="makers-reply",
            where="Asghar, Tyler, Kaafar, On the Privacy of the Opal Data Release: A Response, arXiv 1705.08994",
            claim="The makers' reply to the report of 2017",
            printed=None,
            formula=None,
            exact=None,
            verdict="not told",
            note="Its abstract says that it answers the report; its figures were not at hand here, and none is invented.",
        ),
    ]
