"""How likely what cells show is if a share of them has another law than the others, and what hidden ones hold then.

Tens of thousands of such mixtures are weighed, each by some hundred chances. So they are compiled, and chances are multiplied before the logarithm of their product is taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Chances are no smaller than this, and products of them are no smaller either before their logarithm is taken.
_TINY = 1e-300


@compiled
def weigh_apart(
    at: Floats,
    shares: Floats,
    hidden: Floats,
    inside: Floats,
    shown: Floats,
    held: Floats,
    asked: Floats,
    values: Ints,
    classes: Ints,
    number: Floats,
) -> tuple[Floats, Floats]:
    """The log-likelihood of all cells, and what those that are `asked` for hold if they are hidden: a row for no cells apart and for each of the `shares` of each other law, a column for each intensity.

    `at` are the places of laws on a grid, by law (the first is that of most cells), class and intensity. At the points of the grid `hidden` is the chance to be hidden, `inside` what is hidden then, and `shown` the chance of each value (a row).
    `held` is how many cells of each class are hidden, and `number` how many, from few to many, show each of the pairs of a value and a class.
    """
    laws, size, many = at.shape
    kinds = 1 + (laws - 1) * len(shares)
    logs, sums, product = np.zeros((kinds, many)), np.zeros((kinds, many)), np.ones((kinds, many))
    own, mean = np.empty((laws, many)), np.empty((laws, many))
    for c in range(size):
        _between(at[:, c], hidden, own)
        _between(at[:, c], inside, mean)
        for kind in range(kinds):
            other = 0 if kind == 0 else 1 + (kind - 1) // len(shares)
            share = 0.0 if kind == 0 else shares[(kind - 1) % len(shares)]
            for f in range(many):
                mass = max((1 - share) * own[0, f] + share * own[other, f], _TINY)
                logs[kind, f] += held[c] * math.log(mass)
                sums[kind, f] += asked[c] * ((1 - share) * mean[0, f] + share * mean[other, f]) / mass
    floor, alike = 1.0, 0.0
    for k in range(len(number)):
        least = max(_between(at[:, classes[k]], shown[values[k]], own), _TINY)
        if number[k] != alike or floor * least < _TINY:
            _add_logs(alike, product, logs)
            floor, alike = 1.0, number[k]
        floor *= least
        for kind in range(kinds):
            other = 0 if kind == 0 else 1 + (kind - 1) // len(shares)
            share = 0.0 if kind == 0 else shares[(kind - 1) % len(shares)]
            for f in range(many):
                product[kind, f] *= max((1 - share) * own[0, f] + share * own[other, f], _TINY)
    _add_logs(alike, product, logs)
    return logs, sums


@compiled
def _between(at: Floats, known: Floats, found: Floats) -> float:
    """Write what is known at the points of a grid, interpolated at some places; the least of it."""
    least = math.inf
    for law in range(len(at)):
        for f in range(at.shape[1]):
            left = int(at[law, f])
            part = at[law, f] - left
            found[law, f] = (1 - part) * known[left] + part * known[left + 1]
            least = min(least, found[law, f])
    return least


@compiled
def _add_logs(number: float, product: Floats, logs: Floats) -> None:
    """Add the logarithms of products so many times, and start them anew."""
    for kind in range(len(product)):
        for f in range(product.shape[1]):
            logs[kind, f] += number * math.log(product[kind, f])
            product[kind, f] = 1.0
