"""Compiled rounds of the search for humps beside the same in NumPy, written the long way."""

import numpy as np
import pytest
from scipy import special, stats

from noisegate.inference.profile.hump_em import settle

LENGTH, CLASSES, VALUES = 40, 5, 12
X = np.arange(LENGTH, dtype=float)


def around(mean, width, temper, shift):
    if width > 0:
        return stats.nbinom(1 / width, 1 / (1 + width * mean)).pmf(X)
    logs = temper * (X * np.log(mean + shift) - special.gammaln(X + 1))
    return special.softmax(logs)


def tilted(law, hidden, told, left, noise, tilt):
    """Newton's steps towards hidden cells that add up to what is left for them."""
    for _ in range(4):
        mass = law * hidden * np.exp(tilt * X)
        mass = mass / mass.sum(axis=1, keepdims=True)
        mean = mass @ X
        width = mass @ X**2 - mean**2
        step = (left - told @ mean - tilt * noise) / (told @ width + noise)
        tilt = np.clip(tilt + np.clip(step, -0.3, 0.3), -3, 3)
    return tilt


def by_hand(rounds, seen, share, factor, widths, lowest, temper, shift, stays):
    unit, hidden, shown, number, told, untold, left, noise = seen
    tilt = 0.0
    for _ in range(rounds):
        wide = np.where(np.arange(len(share)) == factor.argmin(), lowest, widths) if lowest >= 0 else widths
        humps = [[around(u * f, w, temper, shift) for f, w in zip(factor, wide, strict=True)] for u in unit]
        joint = np.array(humps) * share[:, None]
        law = joint.sum(axis=1)
        tilt = tilted(law, hidden, told, left, noise, tilt)
        own = np.zeros(joint.shape)
        for c in range(CLASSES):
            for v in range(VALUES):
                mine = joint[c] * shown[v]
                own[c] += number[v, c] * mine / mine.sum()
            for held, chance in ((told[c], hidden * np.exp(tilt * X)), (untold[c], hidden)):
                mine = joint[c] * chance
                own[c] += held * mine / mine.sum()
        each = own.sum(axis=(0, 2))
        share = (each + 0.5) / (each + 0.5).sum()
        new = ((own @ X).sum(axis=0) + 1e-3) / (own.sum(axis=2).T @ unit + 0.1)
        factor = np.where(stays, factor, np.maximum(new, 1e-4))
    return share, factor


def some_cells(rng):
    unit = np.sort(rng.uniform(2.0, 12.0, CLASSES))
    hidden = np.where(X < 8, 1 - 0.1 * np.exp(-(8 - X)), 0.5 * np.exp(-(X - 8)))
    shown = np.exp(-np.abs(np.arange(8, 8 + VALUES)[:, None] - X) / 1.4)
    number = rng.integers(0, 30, (VALUES, CLASSES)).astype(float)
    told, untold = rng.integers(5, 60, (2, CLASSES)).astype(float)
    return unit, hidden, shown, number, told, untold, float(told @ unit) * 0.5, 30.0


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize(
    ("widths", "lowest", "temper", "stays"),
    [
        ((0.0, 0.0), -1.0, 1.0, (False, False)),
        ((0.1, 0.1, 0.1), -1.0, 1.0, (False, False, False)),
        ((0.0, 0.0), -1.0, 8.0, (True, False)),
        ((0.1, 0.1), 0.3, 1.0, (False, False)),
    ],
    ids=["Poisson", "three wide ones", "an empty one and a narrow one", "the lowest is wider"],
)
def test_rounds_are_those_written_the_long_way(rounds, widths, lowest, temper, stays):
    rng = np.random.default_rng(rounds)
    seen, widths, stays = some_cells(rng), np.array(widths), np.array(stays)
    unit, hidden, shown, number, told, untold, left, noise = seen
    share, shift = rng.dirichlet(np.full(len(widths), 5.0)), 0.5 * (1 - 1 / temper)
    factor = np.where(stays, 1e-4, np.linspace(0.4, 1.8, len(widths)))
    wanted = by_hand(rounds, seen, share, factor, widths, lowest, temper, shift, stays)
    settle(
        rounds, unit, share, factor, np.where(stays, -1.0, 1e-4), widths, lowest, temper, shift,
        hidden, shown, number, told, untold, left, noise,
    )  # fmt: skip
    np.testing.assert_allclose(share, wanted[0], rtol=1e-9)
    np.testing.assert_allclose(factor, wanted[1], rtol=1e-9)


def test_it_stops_once_it_has_settled():
    """Many rounds more move nothing by more than what counts as settled."""
    unit, hidden, shown, number, told, untold, left, noise = some_cells(np.random.default_rng(3))
    found = []
    for rounds in (200, 400):
        share, factor = np.full(2, 0.5), np.array([0.5, 1.5])
        settle(
            rounds, unit, share, factor, np.full(2, 1e-4), np.zeros(2), -1.0, 1.0, 0.0,
            hidden, shown, number, told, untold, left, noise,
        )  # fmt: skip
        found.append((share, factor))
    np.testing.assert_array_equal(found[0], found[1])
