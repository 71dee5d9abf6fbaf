"""Our exact privacy curves against Google's dp_accounting, given both probability lists."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomRounding,
    RoundedGaussian,
    RoundedLaplace,
    make_law,
)
from noisegate.mechanisms import (
    Contribution,
    Mechanism,
    certainty,
    composed_delta,
    composed_epsilon,
    corrected,
    delta,
    epsilon,
    pure_epsilon,
    scale_for,
    second_algorithm,
    threshold_for,
)

#: Their losses are rounded to multiples of this; small enough not to show in 1e-10.
STEP = 1e-13


def their_delta(log_p, log_q, epsilons):
    """dp_accounting's hockey-stick divergence of P from Q, P and Q as {outcome: log-probability}."""
    dist = pld.from_two_probability_mass_functions(
        log_q, log_p, pessimistic_estimate=True, value_discretization_interval=STEP, symmetric=False
    )
    return np.array([dist._pmf_remove.get_delta_for_epsilon(float(e)) for e in epsilons])


def outcomes(mechanism, count, *, far):
    """The response to `count` as {outcome: log-probability}, over a window that loses nothing."""
    response = mechanism.response(count)
    values = np.arange(0 if mechanism.threshold is not None else count - far, count + far)
    listed = dict(zip(values.tolist(), response.logprob(values).tolist(), strict=True))
    listed["suppressed"] = response.log_suppressed
    return {outcome: logp for outcome, logp in listed.items() if logp > -720}


def their_worst(mechanism, epsilons, neighbours):
    """The largest of their deltas over a wide range of neighbouring counts."""
    law = mechanism.published_law
    far = law.reach(45) + 5
    top = int(mechanism.threshold or 0) + 2 * far
    counts = [0, 1, 2, 3, top, top + 1, top + 2] if isinstance(law, RandomRounding) else [0, 1, top]
    lists = {c: outcomes(mechanism, c, far=far + top) for k in counts for c in (k, k + 1)}
    losing = [(lists[c + 1], lists[c]) for c in counts]
    gaining = [(lists[c], lists[c + 1]) for c in counts]
    if neighbours == "add-remove":
        return np.max([their_delta(p, q, epsilons) for p, q in losing + gaining], axis=0)
    return np.max([_their_joint(a, b, epsilons) for a in losing for b in gaining], axis=0)


def _their_joint(first, second, epsilons):
    """Two cells at once: all pairs of outcomes, listed."""
    (p1, q1), (p2, q2) = first, second
    keep1 = [o for o in p1 if p1[o] > -50]
    keep2 = [o for o in p2 if p2[o] > -50]
    log_p = {(a, b): p1[a] + p2[b] for a in keep1 for b in keep2}
    log_q = {(a, b): q1[a] + q2[b] for a in keep1 for b in keep2 if a in q1 and b in q2}
    log_q["elsewhere"] = math.log(max(1e-300, 1 - math.fsum(math.exp(v) for v in log_q.values())))
    return their_delta(log_p, log_q, epsilons)


def random_mechanism(rng):
    kind = rng.integers(6)
    law = [
        lambda: Laplace(float(rng.uniform(0.3, 6))),
        lambda: DiscreteLaplace(float(rng.uniform(0.3, 6))),
        lambda: RoundedLaplace(float(rng.uniform(0.3, 6))),
        lambda: DiscreteGaussian(float(rng.uniform(0.5, 6))),
        lambda: RoundedGaussian(float(rng.uniform(0.5, 6))),
        lambda: BoundedUniform(int(rng.integers(1, 8))),
    ][kind]()
    return Mechanism(
        law=law,
        rounding="nearest",
        threshold=None if rng.random() < 0.2 else float(rng.integers(1, 25)),
        rule=["gt", "ge"][rng.integers(2)],
        zeros=["keep", "perturb", "show"][rng.integers(3)],
    )


@pytest.mark.parametrize("seed", range(60))
def test_add_remove_curve_agrees_to_ten_digits(seed):
    mechanism = random_mechanism(np.random.default_rng(seed))
    epsilons = np.array([0.05, 0.2, 0.7, 1.5])
    ours = delta(mechanism, epsilons)
    theirs = their_worst(mechanism, epsilons, "add-remove")
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("seed", range(100, 112))
def test_replacement_curve_agrees_to_ten_digits(seed):
    rng = np.random.default_rng(seed)
    law = [DiscreteLaplace, RoundedLaplace, DiscreteGaussian][rng.integers(3)](float(rng.uniform(0.4, 1.6)))
    mechanism = Mechanism(
        law=law,
        threshold=float(rng.integers(2, 8)),
        rule="ge",
        zeros=["keep", "perturb", "show"][rng.integers(3)],
    )
    epsilons = np.array([0.1, 0.5, 1.2])
    ours = delta(mechanism, epsilons, neighbours="replace")
    theirs = their_worst(mechanism, epsilons, "replace")
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("base", [2, 3, 5])
def test_random_rounding_agrees(base):
    mechanism = Mechanism(law=RandomRounding(base), threshold=None, zeros="perturb")
    epsilons = np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(
        delta(mechanism, epsilons), their_worst(mechanism, epsilons, "add-remove"), rtol=1e-10
    )


def test_the_2016_mechanism_to_fifteen_digits():
    mechanism = second_algorithm(rule="ge", rounding="nearest")
    assert float(delta(mechanism, 1 / 1.4)) == pytest.approx(3.806267658049145e-06, rel=1e-14)
    assert float(delta(second_algorithm(), 1 / 1.4)) == pytest.approx(0.5 * math.exp(-17 / 1.4), rel=1e-14)


@pytest.mark.parametrize(("scale", "threshold", "true"), [(1.4, 18, 3.5758e-6), (1.0, 5, 0.013390)])
def test_thresholds_where_opendp_understates_delta(scale, threshold, true):
    """OpenDP issue 2922: its figure is e^{1/scale} too small."""
    import opendp.prelude as dp

    mechanism = Mechanism(law=DiscreteLaplace(scale), threshold=threshold, rule="ge", zeros="keep")
    ours = float(delta(mechanism, 1 / scale))
    assert ours == pytest.approx(true, rel=5e-5)
    dp.enable_features("contrib")
    space = (
        dp.map_domain(dp.atom_domain(T="i32"), dp.atom_domain(T="i32")),
        dp.l01inf_distance(dp.absolute_distance(T="i32")),
    )
    theirs = dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold).map((1, 1, 1))[1]
    assert theirs == pytest.approx(ours * math.exp(-1 / scale), rel=1e-6) or theirs >= ours * (1 - 1e-9)


@pytest.mark.parametrize("scale", [0.7, 1.4, 5.0])
def test_continuous_laws_agree(scale):
    for law, theirs in (
        (Laplace(scale), pld.from_laplace_mechanism(scale, value_discretization_interval=1e-3)),
        (Gaussian(scale), pld.from_gaussian_mechanism(scale, value_discretization_interval=1e-3)),
    ):
        mechanism = Mechanism(law=law, zeros="perturb")
        for e in (0.1, 0.5, 1.0):
            ours, other = float(delta(mechanism, e)), theirs.get_delta_for_epsilon(e)
            assert ours == pytest.approx(other, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["discrete-laplace", "laplace", "discrete-gaussian", "gaussian"])
@pytest.mark.parametrize("cells", [3, 120])
def test_composition_brackets_dp_accounting(name, cells):
    scale = 6.0
    mechanism = Mechanism(law=make_law(name, scale=scale), zeros="perturb")
    theirs = {
        "discrete-laplace": lambda: pld.from_discrete_laplace_mechanism(
            1 / scale, value_discretization_interval=1 / scale / 64
        ),
        "laplace": lambda: pld.from_laplace_mechanism(scale, value_discretization_interval=1e-4),
        "gaussian": lambda: pld.from_gaussian_mechanism(scale, value_discretization_interval=1e-4),
        "discrete-gaussian": lambda: pld.from_discrete_gaussian_mechanism(
            scale, value_discretization_interval=1e-4
        ),
    }[name]().self_compose(cells)
    # Theirs rounds the losses of the discrete Gaussian up, by at most one step a cell.
    slack = cells * 1e-4 if name == "discrete-gaussian" else 1e-3
    ours = composed_epsilon([Contribution(mechanism=mechanism, cells=cells)], 1e-6)
    other = theirs.get_epsilon_for_delta(1e-6)
    assert ours.lower <= other + 1e-6
    assert other - slack <= ours.upper <= other + slack
    if name.startswith("discrete"):
        assert ours.lower == pytest.approx(ours.upper, rel=1e-6)
    at = composed_delta([Contribution(mechanism=mechanism, cells=cells)], 0.8 * other)
    assert at.lower <= theirs.get_delta_for_epsilon(0.8 * other - slack)
    assert at.upper >= theirs.get_delta_for_epsilon(0.8 * other + slack)


def test_kept_zeros_compose_to_at_least_every_real_pair():
    mechanism = second_algorithm(rule="ge", rounding="nearest")
    at_large = composed_delta([Contribution(mechanism=mechanism, cells=3)], 3 / 1.4)
    q = 3.806267658049145e-06
    assert at_large.lower == pytest.approx(1 - (1 - q) ** 3, rel=1e-9)
    assert at_large.lower <= at_large.upper <= at_large.lower * (1 + 1e-6)


def test_forty_cells_are_cheaper_than_forty_in_one_cell():
    mechanism = Mechanism(law=DiscreteLaplace(40.0), zeros="perturb")
    spread = composed_epsilon([Contribution(mechanism=mechanism, cells=40)], 1e-6).upper
    assert spread == pytest.approx(0.627, abs=5e-4)
    assert epsilon(mechanism, 1e-6, change=40) == pytest.approx(1.0, abs=1e-4)


def test_pure_guarantees_and_their_absence():
    assert pure_epsilon(corrected()) == pytest.approx(1 / 1.4)
    assert pure_epsilon(corrected(), neighbours="replace") == pytest.approx(2 / 1.4)
    assert float(delta(corrected(), 1 / 1.4)) == 0.0
    assert float(delta(corrected(rounding="nearest"), 1 / 1.4)) == 0.0
    assert pure_epsilon(second_algorithm()) is None
    assert epsilon(second_algorithm(), 1e-7) == math.inf
    assert epsilon(second_algorithm(), 1e-5) < 1 / 1.4 + 1e-9


def test_theorem_one_is_false_below_scale_one():
    """The stated bound exp(-17/p)/(2p) exceeds the exact delta when p < 1."""
    for p, holds in ((0.5, False), (0.9, False), (1.1, True), (2.0, True)):
        exact = float(delta(second_algorithm(scale=p), 1 / p))
        assert (math.exp(-17 / p) / (2 * p) <= exact) is holds


def test_a_cut_before_rounding_is_looked_at_pair_by_pair():
    """Near the cut a half bin tells more than the rounded value does."""
    before = Mechanism(law=Laplace(1.4), threshold=3.3, rounding="nearest", cut="before", zeros="perturb")
    after = Mechanism(law=Laplace(1.4), threshold=3.3, rounding="nearest", cut="after", zeros="perturb")
    plain = Mechanism(law=Laplace(1.4), zeros="perturb")
    e = 0.69
    assert float(delta(after, e)) < float(delta(before, e)) <= float(delta(plain, e))


def test_calibration_errs_to_the_safe_side():
    scale = float(scale_for("gaussian", epsilon=1.0, delta=1e-6))
    assert float(delta(Mechanism(law=Gaussian(scale), zeros="perturb"), 1.0)) <= 1e-6
    assert float(delta(Mechanism(law=Gaussian(scale * (1 - 1e-6)), zeros="perturb"), 1.0)) > 1e-6
    law = DiscreteLaplace(1.4)
    threshold = threshold_for(law, delta=3.6e-6)
    assert threshold == 18
    assert math.exp(law.logsf(threshold - 2)) <= 3.6e-6 < math.exp(law.logsf(threshold - 3))


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.8])
def test_an_attackers_certainty_follows_from_their_delta_for_1_to_100_events(prior):
    """Flows with epsilon 0.66 an event; Houssiau et al. (2022) print 95.4 % for 32 trips known and even odds."""
    flows = Mechanism(law=Laplace(1 / 0.66), zeros="perturb")
    less, more = sorted((prior, 1 - prior))
    one = pld.from_laplace_mechanism(1 / 0.66, value_discretization_interval=1e-4)
    for cells in (1, 2, 5, 10, 20, 32, 50, 75, 100):
        theirs = one.self_compose(cells).get_delta_for_epsilon(math.log(more / less))
        ours = certainty([Contribution(mechanism=flows, cells=cells)], prior=prior)
        assert ours.lower - 1e-4 <= more + less * theirs <= ours.upper + 1e-4
        assert ours.upper - ours.lower < 0.001
    assert certainty([Contribution(mechanism=flows, cells=0)], prior=prior).upper == more


@pytest.mark.parametrize("cells", [1, 32])
def test_the_best_test_is_right_as_often_as_is_said(cells):
    """Played out: half of the time the person is in, and the likelihood ratio decides."""
    rng = np.random.default_rng(7)
    law = DiscreteLaplace(1.5)
    noise = law.sample(200_000 * cells, rng=rng).reshape(-1, cells)
    inside = rng.random(len(noise)) < 0.5
    shown = noise + inside[:, None]
    ratio = (law.logpmf(shown - 1) - law.logpmf(shown)).sum(axis=1)
    right = np.where(ratio == 0, 0.5, (ratio > 0) == inside).mean()
    ours = certainty([Contribution(mechanism=Mechanism(law=law, zeros="perturb"), cells=cells)])
    assert right == pytest.approx((ours.lower + ours.upper) / 2, abs=0.004)
