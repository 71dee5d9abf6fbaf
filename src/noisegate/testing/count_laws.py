"""Ways in which counts may vary, none of them a prior of ours: heavy tails, two humps, lumps, single days."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: A generator and the size of a grid in, the counts of rows and columns out.
CountLaw = Callable[[np.random.Generator, int, int], Ints]


def _busy(rng: np.random.Generator, rows: int, columns: int, /) -> Floats:
    """Intensities that are a product of rows and columns, 10 on average."""
    found = np.exp(rng.normal(0, 0.6, (rows, 1)) + rng.normal(0, 0.6, (1, columns)))
    return np.asarray(10 * found / found.mean())


#: Ways in which counts of a grid of rows and columns may vary: called with a generator and the size of the grid.
COUNT_LAWS: Mapping[str, CountLaw] = {
    "poisson": lambda rng, n, k: rng.poisson(_busy(rng, n, k)),
    "negative binomial": lambda rng, n, k: rng.poisson(_busy(rng, n, k) * rng.gamma(1, 1, (n, k))),
    "lognormal": lambda rng, n, k: rng.poisson(_busy(rng, n, k) * np.exp(rng.normal(-0.5, 1, (n, k)))),
    "two-humped": lambda rng, n, k: rng.poisson(np.where(rng.random((n, k)) < 0.5, 2.0, 30.0)),
    "uniform": lambda rng, n, k: rng.integers(0, 41, (n, k)),
    "fixed": lambda _, n, k: np.tile(np.where(np.arange(k) % 2, 12, 25), (n, 1)),
    "parties of three": lambda rng, n, k: 3 * rng.poisson(_busy(rng, n, k) / 3),
    "full or empty": lambda rng, n, k: np.where(rng.random((n, k)) < 0.5, 0, rng.poisson(20, (n, k))),
    "stadium day": lambda rng, n, k: rng.poisson(
        _busy(rng, n, k) * np.where((np.arange(k) == k - 5) & (np.arange(n)[:, None] < n // 6), 15, 1)
    ),
}

#: Counts of places that nearly all have few people, and of stops where hardly anybody gets on: mostly hidden, whatever the threshold.
SPARSE_LAWS: Mapping[str, CountLaw] = {
    "villages": lambda rng, n, k: rng.poisson(np.exp(rng.normal(0.4, 1.0, (1, k))) * np.ones((n, 1))),
    "rural": lambda rng, n, k: rng.poisson(0.1 * np.exp(rng.normal(0, 0.7, (n, 1))) * np.ones((1, k))),
}


def _corner(rng: np.random.Generator, rows: int, columns: int, /) -> Floats:
    """Intensities of 5, and of 60 in a quarter of the rows and columns, each row and column a little busier or less."""
    corner = (np.arange(rows)[:, None] < rows // 4) & (np.arange(columns) < columns // 4)
    own = np.exp(rng.normal(0, 0.3, (rows, 1)) + rng.normal(0, 0.3, (1, columns)))
    return np.asarray(np.where(corner, 60.0, 5.0) * own)


def _shifts(rows: int, columns: int, /) -> Floats:
    """Intensities of 40 in the first half of the columns of busy rows, of 12 in the second half of quiet ones, and of 4 else."""
    busy, early = np.arange(rows)[:, None] < rows // 2, np.arange(columns) < columns // 2
    return np.where(busy & early, 40.0, np.where(~busy & ~early, 12.0, 4.0))


#: Counts whose intensities are no product of rows and columns: a corner that is far busier than all else, and quiet rows that are busy when busy ones are quiet.
CROSSED_LAWS: Mapping[str, CountLaw] = {
    "busy corner": lambda rng, n, k: rng.poisson(_corner(rng, n, k)),
    "two shifts": lambda rng, n, k: rng.poisson(_shifts(n, k)),
}
