"""Section 2 and appendix D: the noise, and recovering its scale from differences."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize

from noisegate.laws import Laplace, RoundedLaplace
from noisegate.mechanisms import Mechanism
from noisegate.reproduction.item import SCALE, THRESHOLD, Item, rounds_to

Ints = NDArray[np.int64]

#: Table 1: tap-ons and the tap-offs of the same sailing.
EXTRACT = ((88, 86), (33, 32))


def noise_items() -> list[Item]:
    """Everything the report says of the noise and its scale."""
    return [
        _density(),
        _extract(),
        _estimate(),
        _derivation(),
        _difference_law(),
        _figure_claim(),
        _rounding(),
    ]


def simulated_pairs(*, pairs: int = 4_000, scale: float = SCALE, seed: int = 2017) -> Ints:
    """Published on- and off-counts of `pairs` sailings that had equal raw counts.

    Only sailings whose two records are together far above the cut, so that suppression played
    no part in which differences are seen.
    """
    rng = np.random.default_rng(seed)
    raw = rng.negative_binomial(3, 3 / (3 + 110), size=3 * pairs)
    law = RoundedLaplace(scale)
    both = np.stack([raw + law.sample(len(raw), rng=rng), raw + law.sample(len(raw), rng=rng)])
    return both[:, both.sum(axis=0) >= 2 * (THRESHOLD + 15)][:, :pairs]


def fitted_scale(differences: Ints, /) -> tuple[float, float, float]:
    """Maximum-likelihood scale and 95 % profile interval from differences of equal counts.

    Assumes rounded Laplace noise of one scale on both records and counts well above the cut.
    """
    values, times = np.unique(differences, return_counts=True)

    def loglik(scale: float) -> float:
        return float(times @ RoundedLaplace(scale).difference().logpmf(values))

    best = float(optimize.minimize_scalar(lambda s: -loglik(s), bounds=(0.1, 8), method="bounded").x)
    drop = loglik(best) - 1.920729

    def excess(scale: float) -> float:
        return loglik(scale) - drop

    return best, _root(excess, 0.1, best), _root(excess, best, 12.0)


def _root(function: object, low: float, high: float, /) -> float:
    return float(optimize.brentq(function, low, high))  # type: ignore[call-overload]  # a float function


def _density() -> Item:
    return Item(
        id="noise-density",
        where="Section 1",
        claim="Probability of a perturbation x: exp(-|x|/p) / (2p); at x = 0, p = 1.4",
        printed="exp(-|x|/p)/(2p)",
        formula=math.exp(float(Laplace(SCALE).logpdf(0))),
        exact=math.exp(float(RoundedLaplace(SCALE).logpmf(0))),
        verdict="wrong",
        note="The formula is a density, not a probability. What was published is rounded: P(0) = 1 - exp(-1/(2p)).",
    )


def _extract() -> Item:
    differences = np.array([on - off for on, off in EXTRACT])
    best, low, high = fitted_scale(differences)
    return Item(
        id="ferry-extract",
        where="Table 1",
        claim="Two Manly sailings: 88 on, 86 off; 33 on, 32 off",
        printed=[list(pair) for pair in EXTRACT],
        formula=None,
        exact={"differences": differences.tolist(), "scale": best, "interval": [low, high]},
        verdict="agrees",
        note=f"Two pairs alone give a scale of {best:.2f}, 95 % interval {low:.2f} to {high:.2f}: consistent with 1.4, and very wide.",
    )


def _estimate() -> Item:
    pairs = simulated_pairs()
    differences = pairs[0] - pairs[1]
    best, low, high = fitted_scale(differences)
    return Item(
        id="scale-estimate",
        where="Section 2",
        claim="The scale p is approximately 1.4",
        printed=1.4,
        formula=float(np.std(differences)) / 2,
        exact=best,
        verdict="agrees" if low <= SCALE <= high else "wrong",
        note=(
            f"4,000 simulated pairs with p = 1.4: maximum likelihood {best:.3f}, 95 % interval {low:.3f} to {high:.3f}. "
            "'formula' is half the standard deviation of the differences (their variance is 4 p^2 before rounding). "
            "The Manly rows themselves are not public any more."
        ),
    )


def _derivation() -> Item:
    b = SCALE

    def printed_line(u: float) -> float:
        return (b / 2 - u + b / 2) * math.exp(-u / b) / (4 * b * b)

    mass = 2 * integrate.quad(printed_line, 0, 60 * b)[0]
    return Item(
        id="difference-derivation",
        where="Appendix D, fourth line",
        claim="The middle term of the convolution is - u exp(-u/b)",
        printed="- u exp(-u/b)",
        formula=mass,
        exact="+ u exp(-u/b)",
        verdict="wrong",
        note=(
            "A sign slip in this line only. As printed, the density would integrate to "
            f"{mass:.1e} (exactly 0) instead of 1; the next line has the right sign again."
        ),
    )


def _difference_law() -> Item:
    u = np.array([0.0, 1.0, 3.0, 12.0])
    printed = (u + SCALE) * np.exp(-u / SCALE) / (4 * SCALE**2)
    ours = np.exp(Laplace(SCALE).difference().logpdf(u))
    same = bool(np.allclose(printed, ours, rtol=1e-12))
    return Item(
        id="difference-law",
        where="Appendix D, result",
        claim="Density of a difference of two Laplace variables: (u+b) exp(-u/b) / (4 b^2)",
        printed="(u+b)exp(-u/b)/(4b^2)",
        formula=printed.tolist(),
        exact=ours.tolist(),
        verdict="agrees" if same else "wrong",
        note="At u = 0, 1, 3, 12 and b = 1.4.",
    )


def _figure_claim() -> Item:
    """With both records published, truncation makes differences smaller, not larger."""
    law, cut = RoundedLaplace(SCALE), Mechanism(law=RoundedLaplace(SCALE), threshold=THRESHOLD, rule="ge")
    spread = {raw: _spread_when_both_published(law, raw) for raw in (14, 18, 60)}
    at_cut = math.exp(cut.response(THRESHOLD).log_published)
    one_lost = 2 * at_cut * (1 - at_cut)
    return Item(
        id="figure-3-large-values",
        where="Appendix D, Figure 3",
        claim="Suppression below 18 produces some large values in the observed differences",
        printed="larger differences",
        formula=None,
        exact={f"sd at raw count {raw}": sd for raw, sd in spread.items()},
        verdict="wrong",
        note=(
            "Where both records are published, suppression makes differences smaller near the cut (standard deviations "
            "under 'exact'). Large values appear only if a suppressed record is read as 0: at a raw count of 18 one of "
            f"the two is lost with probability {one_lost:.2f}."
        ),
    )


def _spread_when_both_published(law: RoundedLaplace, raw: int, /) -> float:
    """The sd of the difference of two records of `raw`, given that both are at least 18."""
    noise = np.arange(THRESHOLD - raw, 400)
    mass = np.exp(law.logpmf(noise))
    mass /= mass.sum()
    mean = float(mass @ noise)
    return math.sqrt(2 * float(mass @ (noise - mean) ** 2))


def _rounding() -> Item:
    variance = RoundedLaplace(SCALE).variance
    return Item(
        id="rounding-variance",
        where="Appendix E",
        claim="Rounding does not materially change the results (variance of one noise: 2 p^2)",
        printed="no material change",
        formula=2 * SCALE**2,
        exact=variance,
        verdict="agrees" if rounds_to(variance / (2 * SCALE**2), "1.0") else "wrong",
        note=f"Rounding adds {100 * (variance / (2 * SCALE**2) - 1):.1f} % to the variance of one noise.",
    )
