"""Our tight accounting of many releases against Google's dp_accounting, and against the noise that is really drawn."""

import math
from fractions import Fraction

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

from noisegate.mechanisms import LossPart, delta_of_parts, epsilon_of_parts

#: Their losses are rounded up to multiples of this.
STEP = 1e-4


def pure(epsilon):
    return LossPart(kind="pure", amount=Fraction(epsilon))


def theirs(parts):
    """dp_accounting's composition of randomised response."""
    whole = None
    for part, times in parts.items():
        e = float(part.amount)
        yes, no = -math.log1p(math.exp(-e)), -e - math.log1p(math.exp(-e))
        one = pld.from_two_probability_mass_functions(
            {0: no, 1: yes}, {0: yes, 1: no}, value_discretization_interval=STEP, symmetric=True
        ).self_compose(times)
        whole = one if whole is None else whole.compose(one)
    return whole


MIXES = {
    "one": {pure("1/2"): 1},
    "a year of weeks": {pure("1/10"): 52},
    "cells and margins": {pure("1/4"): 8, pure("1/2"): 2, pure(1): 1},
    "odd amounts": {pure("1/7"): 10, pure("3/11"): 10, pure("0.123456"): 30},
    "many": {pure("1/100"): 4000},
}


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_pure_parts_compose_as_theirs_do(mix):
    other = theirs(mix)
    for delta in (1e-4, 1e-6, 1e-9):
        exact = other.get_epsilon_for_delta(delta)
        ours = epsilon_of_parts(mix, delta)
        total = float(sum(part.amount * times for part, times in mix.items()))
        assert ours <= total * (1 + 1e-9)
        # Both are upper bounds; theirs may lie above the truth by a step of its grid for every part.
        assert min(exact, total) - sum(mix.values()) * STEP <= ours <= min(exact, total) * (1 + 3e-3)


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_a_delta_is_never_below_the_exact_one(mix):
    """By listing all outcomes where there are few: sums of binomial losses."""
    if len(mix) > 1:
        pytest.skip("only one kind of part is listed outright")
    ((part, times),) = mix.items()
    e, yes = float(part.amount), 1 / (1 + math.exp(-float(part.amount)))
    for epsilon in (0.0, 0.3 * e * times, 0.7 * e * times):
        logs = [
            (math.lgamma(times + 1) - math.lgamma(k + 1) - math.lgamma(times - k + 1)
             + k * math.log(yes) + (times - k) * math.log1p(-yes), e * (2 * k - times))
            for k in range(times + 1)
        ]  # fmt: skip
        exact = math.fsum(math.exp(log) * -math.expm1(epsilon - loss) for log, loss in logs if loss > epsilon)
        found = delta_of_parts(mix, epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * 1.01 + 1e-15


def test_laplace_noise_is_never_accounted_below_its_own_loss():
    """Each part stands for any mechanism with that epsilon, so Laplace noise costs at most as much, and nearly as much."""
    for epsilon, times in ((0.1, 50), (0.5, 8)):
        laplace = pld.from_laplace_mechanism(1 / epsilon, value_discretization_interval=STEP).self_compose(
            times
        )
        exact = laplace.get_epsilon_for_delta(1e-6)
        ours = epsilon_of_parts({pure(Fraction(str(epsilon))): times}, 1e-6)
        assert exact - 0.01 <= ours <= 1.1 * exact


@pytest.mark.parametrize("times", [1, 10, 100])
def test_gaussian_noise_is_accounted_by_its_rho(times):
    sigma = 20
    accountant = RdpAccountant([1 + x / 10 for x in range(1, 1000)])
    accountant.compose(GaussianDpEvent(sigma), times)
    rho = LossPart(kind="concentrated", amount=Fraction(1, 2 * sigma**2))
    ours = epsilon_of_parts({rho: times}, 1e-6)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=2e-2)
    true = pld.from_gaussian_mechanism(sigma, value_discretization_interval=STEP).self_compose(times)
    assert true.get_epsilon_for_delta(1e-6) <= ours


def test_what_shows_itself_adds_to_delta():
    shown = LossPart(kind="shown", amount=Fraction(1, 10**6))
    assert delta_of_parts({shown: 5}, 1.0) == pytest.approx(5e-6, rel=1e-4)
    assert epsilon_of_parts({shown: 5, pure(1): 1}, 1e-6) == math.inf
    assert epsilon_of_parts({pure(1): 3}, 0.0) == pytest.approx(3)
