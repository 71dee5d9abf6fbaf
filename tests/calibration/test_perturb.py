"""The law of a perturbed table, on the operating system's bits: sparse, dense and sliced alike.

A table of many equal tiles of six cells, four of them empty, is perturbed at once; each tile is one
trial. What it publishes (which of the six cells, 64 patterns) and the values are compared with the
exact law: accepted if true, caught if the scale is 10 % off.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from noisegate.laws import OsNoise
from noisegate.mechanisms import Perturbation, PublishedCells, PublishedNoise, perturb, perturb_dense

SIZE, POWER = 1e-9, 1e-9
TILES = 200_000
TILE = np.array([0, 3, 0, 0, 1, 0])
CELLS = np.flatnonzero(np.tile(TILE, TILES))
RAW = np.tile(TILE, TILES)[CELLS]

LAPLACE = PublishedNoise(name="discrete-laplace", scale=Fraction(2))
NARROW = PublishedNoise(name="discrete-laplace", scale=Fraction(3, 5))
ROUNDED = PublishedNoise(name="rounded-laplace", scale=Fraction(7, 5))
GAUSSIAN = PublishedNoise(name="discrete-gaussian", scale=Fraction(2))

CASES = [
    pytest.param(
        Perturbation(noise=noise, threshold=threshold, zeros=zeros), id=f"{noise.name}-{threshold}-{zeros}"
    )
    for noise, threshold, zeros in [
        (LAPLACE, 1, "perturb"),
        (LAPLACE, 2, "perturb"),
        (LAPLACE, 0, "perturb"),
        (LAPLACE, 2, "keep"),
        (NARROW, None, "keep"),
        (ROUNDED, 1, "perturb"),
        (ROUNDED, 3, "perturb"),
        (GAUSSIAN, 1, "perturb"),
        (GAUSSIAN, 2, "perturb"),
        (GAUSSIAN, 2, "keep"),
    ]
]


def whole(perturbation):
    return perturb(CELLS, RAW, size=6 * TILES, perturbation=perturbation, entropy=OsNoise())


def dense(perturbation):
    return perturb_dense(CELLS, RAW, size=6 * TILES, perturbation=perturbation, entropy=OsNoise())


def sliced(perturbation):
    """Seven slices of unequal length, one after the other, cell numbers starting anew in each."""
    edges = np.array([0, 1, 11, 6 * 1000, 6 * 20_000 + 5, 6 * 20_000 + 6, 6 * 155_555 + 1, 6 * TILES])
    parts = []
    for start, end in pairwise(edges):
        here = (start <= CELLS) & (end > CELLS)
        found = perturb(
            CELLS[here] - start,
            RAW[here],
            size=int(end - start),
            perturbation=perturbation,
            entropy=OsNoise(),
        )
        parts.append((found.cells + start, found.values))
    cells, values = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return PublishedCells(cells=cells, values=values)


def patterns(found):
    """How many tiles published each of the 64 sets of cells."""
    shown = np.zeros(6 * TILES, dtype=np.int64)
    shown[found.cells] = 1
    return np.bincount(shown.reshape(TILES, 6) @ (1 << np.arange(6)), minlength=64)


def chance_shown(perturbation, raw):
    law, threshold = perturbation.noise.law, perturbation.threshold
    if perturbation.zeros == "keep" and raw == 0:
        return 0.0
    passing = 1.0 if threshold is None else float(np.exp(law.logsf(threshold - 1 - raw)))
    noisy_zero = perturbation.zeros == "keep" and (threshold is None or threshold <= 0)
    return passing - (float(np.exp(law.logpmf(-raw))) if noisy_zero else 0.0)


def pattern_shares(perturbation):
    chances = [chance_shown(perturbation, raw) for raw in TILE.tolist()]
    shares = np.empty(64)
    for bits in product((0, 1), repeat=6):
        number = sum(bit << place for place, bit in enumerate(bits))
        shares[number] = np.prod([p if bit else 1 - p for p, bit in zip(chances, bits, strict=True)])
    return shares


def chi_square_p(seen, shares):
    """Chance of counts at least this far from their shares; rare cells are pooled."""
    expected = np.asarray(shares) * np.sum(seen)
    if np.any(np.asarray(seen)[expected == 0]):
        return 0.0
    rare = expected < 10
    pooled = np.append(np.asarray(seen)[~rare], np.asarray(seen)[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    keep = wanted > 0
    return float(stats.chisquare(pooled[keep], wanted[keep] / wanted.sum() * pooled.sum()).pvalue)


def value_p(perturbation, values, raw):
    """Chi-square of what is published for one raw count, given that it is."""
    law, threshold = perturbation.noise.law, perturbation.threshold
    low = threshold if threshold is not None else raw - 60
    ladder = np.arange(low, low + 120)
    mass = np.exp(law.logpmf(ladder - raw))
    if perturbation.zeros == "keep":
        mass[ladder == 0] = 0
    seen = np.bincount(np.clip(values - low, 0, len(ladder) - 1), minlength=len(ladder))
    return chi_square_p(seen, mass / mass.sum())


def off(perturbation, factor):
    noise = replace(perturbation.noise, scale=perturbation.noise.scale * Fraction(factor))
    return replace(perturbation, noise=noise)


@pytest.mark.parametrize("way", [whole, dense, sliced])
@pytest.mark.parametrize("perturbation", CASES)
def test_which_cells_are_published(way, perturbation):
    seen = patterns(way(perturbation))
    assert chi_square_p(seen, pattern_shares(perturbation)) > SIZE
    for factor in ("0.9", "1.1"):
        assert chi_square_p(seen, pattern_shares(off(perturbation, factor))) < POWER


@pytest.mark.parametrize("way", [whole, dense, sliced])
@pytest.mark.parametrize("perturbation", CASES)
def test_the_values_that_are_published(way, perturbation):
    found = way(perturbation)
    truth = np.tile(TILE, TILES)[found.cells]
    for raw in (0, 1, 3) if perturbation.zeros == "perturb" else (1, 3):
        values = found.values[truth == raw]
        assert value_p(perturbation, values, raw) > SIZE
        for factor in ("0.9", "1.1"):
            assert value_p(off(perturbation, factor), values, raw) < POWER


@pytest.mark.parametrize("perturbation", CASES)
def test_sparse_and_dense_cannot_be_told_apart(perturbation):
    """Two samples and no formula: the test would fail even if the exact law above were wrong."""

    def p(one, other):
        seen = np.array([patterns(one), patterns(other)])
        both = seen[:, seen.sum(axis=0) > 20]
        return float(stats.chi2_contingency(both).pvalue)

    assert p(whole(perturbation), dense(perturbation)) > SIZE
    assert p(whole(perturbation), dense(off(perturbation, "0.85"))) < POWER


def test_rare_spurious_cells_are_uniform_over_the_zeros():
    """Non-zero cells crowd the first half, so places uniform over *cells* would be caught."""
    size, cells = 4_000_000, np.arange(1_500_000, dtype=np.int64)
    perturbation = Perturbation(noise=LAPLACE, threshold=9)
    raw = np.full(len(cells), 10**6)
    found = perturb(cells, raw, size=size, perturbation=perturbation, entropy=OsNoise())
    spurious = found.cells[found.values < 10**5]
    zeros, chance = size - len(cells), float(LAPLACE.passing(9))
    assert np.all(spurious >= len(cells))
    assert stats.binomtest(len(spurious), zeros, chance).pvalue > SIZE
    assert stats.binomtest(len(spurious), zeros, 1.1 * chance).pvalue < POWER
    assert stats.binomtest(len(spurious), zeros, 0.9 * chance).pvalue < POWER
    shares = np.bincount((spurious - len(cells)) * 20 // zeros, minlength=20)
    assert chi_square_p(shares, np.full(20, 1 / 20)) > SIZE
    tilted = np.linspace(0.8, 1.2, 20) / 20
    assert chi_square_p(shares, tilted) < POWER
    over_cells = np.bincount(spurious * 20 // size, minlength=20)
    assert chi_square_p(over_cells, np.full(20, 1 / 20)) < POWER
