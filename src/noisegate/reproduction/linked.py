"""Sections 4 and 5 and appendix E: the suppressed ferry count, Theorem 2, the timetable, and the removed rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from noisegate.laws import Laplace
from noisegate.mechanisms import second_algorithm
from noisegate.reproduction.item import SCALE, Item, judged

Floats = NDArray[np.float64]

#: Table 2: what is published of the ferry tap-offs of 12 August 2016, 00:00.
PUBLISHED, TOTAL = (91, 41), 150
RESIDUAL = TOTAL - sum(PUBLISHED)

#: The intervals as printed, by alpha.
PRINTED = {0.05: ("17.02", "18.98"), 0.01: ("16.04", "19.96")}


def linked_items() -> list[Item]:
    """Everything the report says of the suppressed ferry count and of the timetable."""
    return [
        _residual(),
        _sum_law(),
        _suppressed_means(),
        *(_interval(alpha) for alpha in PRINTED),
        *(_half_width(alpha) for alpha in PRINTED),
        *(_coverage(alpha) for alpha in PRINTED),
        _bound_direction(),
        _any_alpha(),
        _posterior(),
        _large_or_small(),
        _early_arrival(),
        _night_bus(),
    ]


def exact_half_width(alpha: float, /) -> float:
    """Half the width of the exact interval for z from one residual with three Laplace noises."""
    law = Laplace(SCALE).sum_of(3)
    return float(optimize.brentq(lambda a: float(law.logsf(a)) - math.log(alpha / 2), 0, 100, xtol=1e-12))


def coverage(half_width: float, /) -> float:
    """How often residual +- `half_width` contains the raw count."""
    return 1 - 2 * math.exp(float(Laplace(SCALE).sum_of(3).logsf(half_width)))


def posterior(*, censored: bool, most: int = 200) -> Floats:
    """P(z) for z = 0 .. most given the residual, flat prior, with or without the cell's own suppression."""
    z = np.arange(most + 1)
    logs = Laplace(SCALE).sum_of(3).logpdf(RESIDUAL - z)
    if censored:
        mechanism = second_algorithm()
        logs = logs + np.array([mechanism.response(int(count)).log_suppressed for count in z])
    mass = np.exp(logs - logs.max())
    return np.asarray(mass / mass.sum())


def equal_tails(mass: Floats, level: float, /) -> tuple[int, int]:
    """The integers between which `mass` has at least `level`, with at most half the rest on each side."""
    cumulative = np.cumsum(mass)
    low = int(np.searchsorted(cumulative, (1 - level) / 2))
    high = int(np.searchsorted(cumulative, 1 - (1 - level) / 2))
    return low, high


def _residual() -> Item:
    return Item(
        id="ferry-residual",
        where="Section 4.1, Table 2",
        claim="Published 91 + 41 = 132 of a total of 150: about 18 are missing",
        printed=18,
        formula=RESIDUAL,
        exact=RESIDUAL,
        verdict="agrees" if RESIDUAL == 18 else "wrong",
        note="The residual is z plus three noises; what it says of z is below.",
    )


def _sum_law() -> Item:
    law = Laplace(SCALE).sum_of(3)
    return Item(
        id="residual-variance",
        where="Appendix E",
        claim="S - X - Y is unbiased for z with variance 6 p^2",
        printed="6 p^2",
        formula=6 * SCALE**2,
        exact=law.variance,
        verdict="agrees" if math.isclose(law.variance, 6 * SCALE**2) else "wrong",
        note="Before rounding; the noises enter as L3 - L1 - L2, which has the same law as L1 + L2 + L3.",
    )


def _suppressed_means() -> Item:
    mechanism = second_algorithm()
    shares = {f"raw {c}": math.exp(mechanism.response(c).log_suppressed) for c in (18, 19, 20, 22)}
    return Item(
        id="suppressed-raw-count",
        where="Appendix E, third observation",
        claim="The suppressed count was at most 18 in the raw data",
        printed="z <= 18",
        formula=None,
        exact=shares,
        verdict="wrong",
        note="Suppression says z + L <= 18, not z <= 18: a raw count of 20 is suppressed with probability exp(-2/p)/2 = 0.12.",
    )


def _interval(alpha: float, /) -> Item:
    natural, ten = SCALE * math.log(1 / (4 * alpha)), SCALE * math.log10(1 / (4 * alpha))
    width, level = exact_half_width(alpha), f"{100 * (1 - alpha):.0f} %"
    low, high = PRINTED[alpha]
    verdicts = [
        judged(RESIDUAL - natural, low, log10=RESIDUAL - ten),
        judged(RESIDUAL + natural, high, log10=RESIDUAL + ten),
    ]
    return Item(
        id=f"theorem-2-interval-{100 * (1 - alpha):.0f}",
        where="Theorem 2 and the numbers after it",
        claim=f"{level} confidence interval for z: S - X - Y +- p log(1/(4 alpha))",
        printed=[float(low), float(high)],
        formula=[RESIDUAL - natural, RESIDUAL + natural],
        exact=[RESIDUAL - width, RESIDUAL + width],
        verdict=verdicts[0] if verdicts[0] == verdicts[1] else "wrong",
        note=(
            f"The printed numbers are the formula with log base 10 (half-width {ten:.3f}); with the natural log it is {natural:.3f}. "
            f"Neither is a {level} interval: the exact half-width is {width:.3f}."
        ),
    )


def _half_width(alpha: float, /) -> Item:
    natural = SCALE * math.log(1 / (4 * alpha))
    low, high = (float(end) for end in PRINTED[alpha])
    return Item(
        id=f"theorem-2-width-{100 * (1 - alpha):.0f}",
        where="Theorem 2 and the numbers after it",
        claim=f"Half-width of the {100 * (1 - alpha):.0f} % interval",
        printed=(high - low) / 2,
        formula=natural,
        exact=exact_half_width(alpha),
        verdict="wrong",
        note="Exact: the a at which the tail (x^2 + 5x + 8) exp(-x)/16, x = a/p, of a sum of three noises is alpha/2.",
    )


def _coverage(alpha: float, /) -> Item:
    low, high = (float(end) for end in PRINTED[alpha])
    natural, true = coverage(SCALE * math.log(1 / (4 * alpha))), coverage(SCALE * math.log10(1 / (4 * alpha)))
    return Item(
        id=f"theorem-2-coverage-{100 * (1 - alpha):.0f}",
        where="Theorem 2 and the numbers after it",
        claim=f"The interval {low} to {high} has confidence {100 * (1 - alpha):.0f} %",
        printed=1 - alpha,
        formula=natural,
        exact=true,
        verdict="wrong",
        note=f"The printed interval covers the raw count {100 * true:.1f} % of the time; with the natural log {100 * natural:.1f} %.",
    )


def _bound_direction() -> Item:
    a = SCALE * math.log(1 / (4 * 0.05))
    true_tail, used = math.exp(float(Laplace(SCALE).sum_of(3).logsf(a))), math.exp(-a / SCALE) / 8
    return Item(
        id="theorem-2-bound",
        where="Theorem 2, derivation",
        claim="Using a bound on the tail only makes the interval wider than necessary",
        printed="wider than necessary",
        formula=used,
        exact=true_tail,
        verdict="wrong",
        note=(
            f"The bound used is a lower one, so the interval is narrower than necessary: at the half-width for 95 % the tail is {true_tail:.3g}, "
            f"the derivation takes {used:.3g}."
        ),
    )


def _any_alpha() -> Item:
    return Item(
        id="theorem-2-alpha",
        where="Theorem 2",
        claim="The interval holds for any alpha between 0 and 1; at alpha = 0.5",
        printed="0 < alpha < 1",
        formula=SCALE * math.log(1 / (4 * 0.5)),
        exact=exact_half_width(0.5),
        verdict="wrong",
        note="For alpha above 1/4 the printed half-width is negative.",
    )


def _posterior() -> Item:
    mass = posterior(censored=True)
    low, high = equal_tails(mass, 0.95)
    z = np.arange(len(mass))
    return Item(
        id="cremorne-point",
        where="Section 4.1",
        claim="Cremorne Point had nearly 18 tap-offs",
        printed=[17.02, 18.98],
        formula=list(equal_tails(posterior(censored=False), 0.95)),
        exact=[low, high],
        verdict="wrong",
        note=(
            f"Posterior of the raw count, flat prior, using the residual and the cell's own suppression: mean {mass @ z:.2f}, mode {int(mass.argmax())}, "
            f"95 % interval [{low}, {high}]. 'formula' is the same without the suppression evidence. The printed certainty is far too high."
        ),
    )


def _large_or_small() -> Item:
    mass = posterior(censored=True)
    return Item(
        id="cremorne-not-small",
        where="Section 4.1",
        claim="A value near 18 is much more likely than one below 5",
        printed="much more likely",
        formula=None,
        exact={"P(z < 5)": float(mass[:5].sum()), "P(z = 0)": float(mass[0])},
        verdict="agrees" if mass[:5].sum() < 0.01 else "wrong",
        note="Under the same posterior.",
    )


def _early_arrival() -> Item:
    return Item(
        id="early-arrival",
        where="Section 4.1, Table 3",
        claim="South Mosman (arrival 00:15) would need an early ferry, so the count belongs to Cremorne Point",
        printed="early arrival is unlikely",
        formula=None,
        exact="Manly: timetabled 00:15, published in the 00:00 bin",
        verdict="wrong",
        note=(
            "The conclusion may stand, the argument does not: the report's own table has 91 tap-offs at Manly in the 00:00 bin from a ferry "
            "that is due at 00:15, so an early arrival (or early tap-off) was seen that very night."
        ),
    )


def _night_bus() -> Item:
    half = SCALE * math.log(1 / 0.05)
    return Item(
        id="night-bus",
        where="Section 4.2, Table 4",
        claim="Postcodes 2770 at 04:30 and 2148 at 04:45 show one night bus: 21 and 31 taps",
        printed=[21, 31],
        formula=None,
        exact=[[21 - half, 21 + half], [31 - half, 31 + half]],
        verdict="agrees",
        note=(
            "Raw counts of that one vehicle, 95 % intervals from one record each. 'No one or fewer than the threshold boarded' at Penrith "
            "is too strong: a raw 19 or 20 is suppressed too, now and then."
        ),
    )


STOPS, UNKNOWN, DAYS = 23, 1, 14
CLAIMED_SHARE = 0.0005 / 100


def row_items() -> list[Item]:
    """The light-rail rows and the claimed share of dropped trips."""
    possible = (STOPS + STOPS + UNKNOWN) * DAYS
    share = CLAIMED_SHARE * possible
    return [
        Item(
            id="light-rail-rows",
            where="Section 5",
            claim="23 tap-on and 24 tap-off places over 14 days: the most light-rail rows possible",
            printed=658,
            formula=possible,
            exact=possible,
            verdict="agrees" if possible == 658 else "wrong",
            note="Rows of the location table: places, the unknown tap-off, and days.",
        ),
        Item(
            id="light-rail-share",
            where="Section 5",
            claim="0.0005 % of the rows",
            printed=0.00329,
            formula=share,
            exact=share,
            verdict=judged(share, "0.00329"),
            note="Not a whole number of rows.",
        ),
        Item(
            id="light-rail-dropped",
            where="Section 5",
            claim="All 658 rows are in the data, so the dropped share should be 0",
            printed=0,
            formula=None,
            exact=possible - 658,
            verdict="agrees",
            note=(
                "For rows. Data61 spoke of trips: a share of trips need not be a whole number of rows, but with no row missing "
                "it is 0 as well. One row of 658 would be 0.15 %, 300 times the claim."
            ),
        ),
    ]
