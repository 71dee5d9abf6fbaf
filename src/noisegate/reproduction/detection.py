"""Section 3 and appendices A to C: detection, Theorem 1, and what the mechanism guarantees."""

from __future__ import annotations

import math

from noisegate.mechanisms import corrected, delta, detection, epsilon, pure_epsilon, second_algorithm
from noisegate.reproduction.item import SCALE, THRESHOLD, Item, judged


def detection_items() -> list[Item]:
    """Everything the report says of detection and of the differential-privacy guarantee."""
    return [
        _no_pure_guarantee(),
        _theorem_statement(),
        _theorem_proof(),
        _theorem_below_one(),
        *(_group(size, printed, where) for size, printed, where in _GROUPS),
        _small_groups(),
        _two_conventions(),
        _rounding_and_privacy(),
        _fix(),
        _sensitivity(),
        _three_tables(),
        _commuter(),
        _depends_on_scale(),
        _density_in_many_dimensions(),
    ]


_GROUPS = (
    (1, "0.000002", "Summary and Section 3"),
    (5, "0.00004", "Section 3"),
    (12, "0.005", "Section 3"),
)


def _density_at(group: int, scale: float, /) -> float:
    """The report's estimate for a group: the density of the noise at the distance to the cut."""
    return math.exp(-(THRESHOLD - group) / scale) / (2 * scale)


def _no_pure_guarantee() -> Item:
    mechanism = second_algorithm()
    return Item(
        id="theorem-1-no-epsilon",
        where="Theorem 1, first part",
        claim="The algorithm is not epsilon-differentially private for any epsilon",
        printed="no epsilon",
        formula=None,
        exact={"delta at epsilon 1000": float(delta(mechanism, 1000.0))},
        verdict="agrees" if pure_epsilon(mechanism) is None else "wrong",
        note="Delta stays at the same positive value for every epsilon from 1/p on.",
    )


def _theorem_statement() -> Item:
    exact = float(delta(second_algorithm(), 1 / SCALE))
    stated = _density_at(1, SCALE)
    return Item(
        id="theorem-1-delta",
        where="Theorem 1, second part",
        claim="Delta is at least exp(-17/p)/(2p)",
        printed=0.000002,
        formula=stated,
        exact=exact,
        verdict="wrong",
        note=(
            f"The formula is a density, not a probability. Exact delta (published when > 18, no rounding): exp(-17/p)/2 = {exact:.4g} "
            f"at p = 1.4. The stated {stated:.4g} is a true lower bound there, but too weak, and false for p < 1."
        ),
    )


def _theorem_proof() -> Item:
    proof = math.exp(-THRESHOLD / SCALE) / (2 * SCALE)
    return Item(
        id="theorem-1-proof",
        where="Appendix C",
        claim="The proof takes the output t + 1 = 19 from a count of 1: exp(-t/p)/(2p)",
        printed="exp(-18/p)/(2p)",
        formula=proof,
        exact=float(delta(second_algorithm(), 1 / SCALE)),
        verdict="wrong",
        note=(
            f"The proof ends with exp(-18/p)/(2p) = {proof:.3g}, the theorem states exp(-17/p)/(2p); neither sums over all "
            "outputs above the cut, which gives exp(-17/p)/2."
        ),
    )


def _theorem_below_one() -> Item:
    scale = 0.5
    exact, stated = float(delta(second_algorithm(scale=scale), 1 / scale)), _density_at(1, scale)
    return Item(
        id="theorem-1-below-one",
        where="Theorem 1, second part",
        claim="The bound holds for whatever p the algorithm is run with; at p = 0.5",
        printed="exp(-17/p)/(2p)",
        formula=stated,
        exact=exact,
        verdict="agrees" if stated <= exact else "wrong",
        note=f"At p = 0.5 delta = {exact:.3g} is reached although the theorem says that less than {stated:.3g} is impossible.",
    )


def _group(size: int, printed: str, where: str, /) -> Item:
    exact, density = detection(second_algorithm(), size), _density_at(size, SCALE)
    after = detection(second_algorithm(rule="ge", rounding="nearest"), size)
    says = (
        "the printed number is the density"
        if judged(density, printed) == "agrees"
        else "neither of the two gives the printed number"
    )
    return Item(
        id=f"detection-{size}",
        where=where,
        claim=f"Probability of detecting a group of {size} for certain",
        printed=float(printed),
        formula=density,
        exact=exact,
        verdict=judged(exact, printed),
        note=(
            f"Density {density:.4g}, probability {exact:.4g}: {says}. If the cut is 'at least 18 after rounding' "
            f"the probability is {after:.4g}."
        ),
    )


def _small_groups() -> Item:
    mechanism = second_algorithm()
    largest = max(g for g in range(1, 18) if detection(mechanism, g) < 1e-3)
    return Item(
        id="detection-small-groups",
        where="Summary",
        claim="Less than one in a thousand for small groups",
        printed=0.001,
        formula=None,
        exact={f"group {g}": detection(mechanism, g) for g in (largest, largest + 1, 12)},
        verdict="wrong",
        note=f"True up to a group of {largest}; the report's own figure for a group of 12 is 0.005.",
    )


def _two_conventions() -> Item:
    above = float(delta(second_algorithm(), 1 / SCALE))
    at_least = float(delta(second_algorithm(rule="ge", rounding="nearest"), 1 / SCALE))
    return Item(
        id="cut-convention",
        where="Section 1 against appendix B",
        claim="Counts less than 18 are removed; and: released if d > 18, rounded afterwards",
        printed="both",
        formula=above,
        exact=at_least,
        verdict="wrong",
        note=(
            f"The two are different mechanisms: delta = {above:.4g} (published when > 18, no rounding) against {at_least:.4g} "
            "(rounded to the nearest integer, published when >= 18). The tables have 18 as their least value, which fits the second."
        ),
    )


def _rounding_and_privacy() -> Item:
    before = float(delta(second_algorithm(rounding="nearest", cut="before"), 1 / SCALE))
    after = float(delta(second_algorithm(rounding="nearest", cut="after"), 1 / SCALE))
    return Item(
        id="rounding-and-privacy",
        where="Appendix B",
        claim="Rounding does not affect differential privacy",
        printed="no effect",
        formula=float(delta(second_algorithm(), 1 / SCALE)),
        exact=before,
        verdict="agrees",
        note=f"Exactly so when the cut comes first. Where the cut comes after rounding (> 18), delta is {after:.4g} instead.",
    )


def _fix() -> Item:
    mechanism = corrected()
    return Item(
        id="perturbing-zeros",
        where="Section 3",
        claim="Perturbing zeros like all other counts makes it epsilon-differentially private",
        printed="epsilon-differential privacy",
        formula=1 / SCALE,
        exact=pure_epsilon(mechanism),
        verdict="agrees" if float(delta(mechanism, 1 / SCALE)) == 0 else "wrong",
        note="Pure, with epsilon = 1/p for one event in one table, added or removed.",
    )


def _sensitivity() -> Item:
    both = pure_epsilon(corrected(), neighbours="replace")
    return Item(
        id="neighbours-replace",
        where="Appendix A",
        claim="Neighbours differ in exactly one row",
        printed="one row differs",
        formula=1 / SCALE,
        exact=both,
        verdict="agrees",
        note=(
            "A changed row leaves one cell and enters another, so two counts move: sensitivity 2 and epsilon = 2/p a table, "
            f"not 1/p. At delta = 1e-6 it is {epsilon(corrected(), 1e-6, neighbours='replace'):.4f}."
        ),
    )


def _three_tables() -> Item:
    return Item(
        id="three-tables",
        where="Summary",
        claim="The three tables seem to have been derived independently from the same raw data",
        printed="may have unexpected implications",
        formula=None,
        exact={"add or remove one tap": 3 / SCALE, "replace one tap": 6 / SCALE},
        verdict="agrees",
        note="One tap is in three tables: epsilon = 3/p = 2.14 (add/remove) or 6/p = 4.29 (replacement), corrected zeros assumed.",
    )


def _commuter() -> Item:
    taps = 40
    return Item(
        id="commuter",
        where="Section 3",
        claim="Privacy is discussed for one event only",
        printed=None,
        formula=None,
        exact=taps * 3 / SCALE,
        verdict="agrees",
        note="Not a slip, but an omission: a commuter with 40 taps in the two weeks has epsilon = 40 * 3/1.4 = 86 in the worst case.",
    )


def _depends_on_scale() -> Item:
    return Item(
        id="footnote-scale",
        where="Section 3, footnote",
        claim="The numbers depend on the estimate of p",
        printed="depends on p",
        formula=None,
        exact={f"delta at p = {p}": float(delta(second_algorithm(scale=p), 1 / p)) for p in (1.3, 1.4, 1.5)},
        verdict="agrees",
        note="A tenth more or less in p changes delta by a factor of about two.",
    )


def _density_in_many_dimensions() -> Item:
    d = 2
    return Item(
        id="laplace-normaliser",
        where="Appendix A, footnote to the Laplace mechanism",
        claim="Laplace density on R^d: exp(-||a-x||_1/b) / (2b); total mass for d = 2, b = 1.4",
        printed="exp(-||a-x||_1/b)/(2b)",
        formula=(2 * SCALE) ** d / (2 * SCALE),
        exact=1.0,
        verdict="wrong",
        note="The normaliser is (2b)^d; as printed the density integrates to (2b)^(d-1).",
    )
