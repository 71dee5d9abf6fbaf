"""The likeliest shares and factors of humps, by EM over what cells show (`seen`), hidden cells tilted to what totals leave for them.

A search tries dozens of laws of some thousand numbers each, so its rounds are compiled; in NumPy most of their time was calls. Classes of cells are the last axis of all arrays: they are what loops run along.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled

Floats = NDArray[np.float64]

#: Shares and factors that move by less than this in a round have settled.
_SETTLED = 1e-3
#: Chances below this are none: their inverses can still be multiplied and added up.
_IMPOSSIBLE = 1e-200
#: Nothing is as unlikely as this where laws are worked out count by count.
_MOST_NATS = 600.0
#: Means below this are this.
_LEAST_MEAN = 1e-6
#: A tilt moves by so much a step, in so many steps a round, and so far in all.
_TILT_STEP, _TILT_STEPS, _MOST_TILT = 0.3, 4, 3.0


@compiled
def settle(
    rounds: int,
    unit: Floats,
    share: Floats,
    factor: Floats,
    least: Floats,
    widths: Floats,
    lowest: float,
    temper: float,
    shift: float,
    hidden: Floats,
    shown: Floats,
    number: Floats,
    told: Floats,
    untold: Floats,
    left: float,
    noise: float,
) -> None:
    """Move `share` and `factor` in place, for at most so many rounds.

    A mean is the `unit` of its class times a factor; a factor with a `least` below zero stays what it is. The hump with the lowest factor has the width `lowest`, unless that is negative.
    Counts are hidden with the chance `hidden` and lead to each value (a row) with the chance `shown`; `number` is how many cells of each class show each value.
    """
    humps, length, size = len(share), len(hidden), len(unit)
    bases = np.empty((humps + 1, length))
    for k in range(humps + 1):
        _base(widths[k] if k < humps else lowest, temper, bases[k])
    masses = np.empty((humps, length, size))
    every, said = np.empty((length, size)), np.empty((length, size))
    found, tilted, tilt = np.empty((4, size)), np.empty(length), 0.0
    for _ in range(rounds):
        low = np.argmin(factor) if lowest >= 0 else -1
        every[:] = 0.0
        for k in range(humps):
            mine = humps if k == low else k
            width = lowest if k == low else widths[k]
            law_around(unit, factor[k], width, temper, shift, bases[mine], masses[k])
            for x in range(length):
                for c in range(size):
                    every[x, c] += share[k] * masses[k, x, c]
        tilt = _tilt(tilt, every, hidden, told, left, noise, found)
        # What a count of each class weighs, whatever hump it is of: by values, and by what is hidden.
        said[:] = 0.0
        _add_shown(said, every, shown, number, found[0])
        for x in range(length):
            tilted[x] = hidden[x] * math.exp(min(max(tilt * x, -200.0), 200.0))
        _add_hidden(said, every, told, tilted, found[0])
        _add_hidden(said, every, untold, hidden, found[0])
        if _moved(unit, share, factor, least, masses, said, found) < _SETTLED:
            break


@compiled
def _base(width: float, temper: float, into: Floats) -> None:
    """What the log of a law has whatever its mean."""
    for x in range(len(into)):
        into[x] = -math.lgamma(x + 1.0)
        if width > 0:
            into[x] += math.lgamma(x + 1 / width) - math.lgamma(1 / width)
        else:
            into[x] *= temper


@compiled
def law_around(
    unit: Floats, factor: float, width: float, temper: float, shift: float, base: Floats, into: Floats
) -> None:
    """The laws of counts around some means: negative binomial, or Poisson to a power."""
    if temper == 1 and _by_steps(unit, factor, width, into):
        return
    length = len(into)
    for c in range(len(unit)):
        mean = max(unit[c] * factor, _LEAST_MEAN)
        if width > 0:
            r = 1 / width
            step, none = math.log(mean / (mean + r)), r * math.log1p(mean / r)
            for x in range(length):
                into[x, c] = math.exp(base[x] + x * step - none)
            continue
        step, top, whole = temper * math.log(mean + shift), -math.inf, 0.0
        for x in range(length):
            top = max(top, base[x] + x * step)
        for x in range(length):
            into[x, c] = math.exp(base[x] + x * step - top)
            whole += into[x, c]
        for x in range(length):
            into[x, c] /= whole


@compiled
def _by_steps(unit: Floats, factor: float, width: float, into: Floats) -> bool:
    """The same count by count, each from the one before it, which takes no exponentials; False if nobody is too unlikely to start from."""
    length, size = into.shape
    r = 1 / width if width > 0 else 0.0
    odds = np.empty(size)
    for c in range(size):
        mean = max(unit[c] * factor, _LEAST_MEAN)
        odds[c], none = mean, mean
        if width > 0:
            odds[c], none = mean / (mean + r), r * math.log1p(mean / r)
        if none > _MOST_NATS:
            return False
        into[0, c] = math.exp(-none)
    for x in range(1, length):
        more = (x - 1 + r) / x if width > 0 else 1.0 / x
        for c in range(size):
            into[x, c] = into[x - 1, c] * (more * odds[c])
    if width <= 0:
        _scaled(into)
    return True


@compiled
def _scaled(law: Floats) -> None:
    """Let the laws of all classes add up to one."""
    length, size = law.shape
    whole = np.zeros(size)
    for x in range(length):
        for c in range(size):
            whole[c] += law[x, c]
    for x in range(length):
        for c in range(size):
            law[x, c] /= whole[c]


@compiled
def _add_shown(said: Floats, every: Floats, shown: Floats, number: Floats, weight: Floats) -> None:
    """What cells that show a value weigh at each count."""
    length, size = said.shape
    for v in range(len(shown)):
        weight[:] = 0.0
        for x in range(length):
            chance = shown[v, x]
            if chance > 0:
                for c in range(size):
                    weight[c] += chance * every[x, c]
        for c in range(size):
            weight[c] = number[v, c] / max(weight[c], _IMPOSSIBLE)
        for x in range(length):
            chance = shown[v, x]
            if chance > 0:
                for c in range(size):
                    said[x, c] += chance * weight[c]


@compiled
def _add_hidden(said: Floats, every: Floats, held: Floats, chance: Floats, weight: Floats) -> None:
    """What hidden cells of each class weigh at each count."""
    if held.sum() <= 0:
        return
    least, (length, size) = _IMPOSSIBLE * chance.max(), said.shape
    weight[:] = 0.0
    for x in range(length):
        for c in range(size):
            weight[c] += every[x, c] * chance[x]
    for c in range(size):
        weight[c] = held[c] / max(weight[c], least)
    for x in range(length):
        for c in range(size):
            said[x, c] += weight[c] * chance[x]


@compiled
def _moved(
    unit: Floats,
    share: Floats,
    factor: Floats,
    least: Floats,
    masses: Floats,
    said: Floats,
    found: Floats,
) -> float:
    """Shares and factors anew, and by how much they moved."""
    humps, length, size = masses.shape
    number, summed, units = np.zeros(humps), np.zeros(humps), np.zeros(humps)
    for k in range(humps):
        found[:] = 0.0
        for x in range(length):
            for c in range(size):
                mine = masses[k, x, c] * said[x, c]
                found[0, c] += mine
                found[1, c] += mine * x
        for c in range(size):
            number[k] += share[k] * found[0, c]
            summed[k] += share[k] * found[1, c]
            units[k] += share[k] * found[0, c] * unit[c]
    whole, moved, by = number.sum() + 0.5 * humps, 0.0, 0.0
    for k in range(humps):
        new = (number[k] + 0.5) / whole
        moved, share[k] = max(moved, abs(new - share[k])), new
        if least[k] >= 0:
            new = max((summed[k] + 1e-3) / (units[k] + 0.1), least[k])
            by, factor[k] = max(by, abs(new / factor[k] - 1)), new
    return moved + by


@compiled
def _tilt(
    tilt: float,
    law: Floats,
    hidden: Floats,
    told: Floats,
    left: float,
    noise: float,
    found: Floats,
) -> float:
    """The tilt of hidden cells that lets them add up to what rows leave, as far as these are sure; `law` is that of counts in each class, `found` room to work in."""
    length, size = law.shape
    for _ in range(_TILT_STEPS):
        found[:] = 0.0
        for x in range(length):
            chance = hidden[x] * math.exp(min(max(tilt * x, -200.0), 200.0))
            for c in range(size):
                mass = law[x, c] * chance
                found[0, c] += mass
                found[1, c] += mass * x
                found[2, c] += mass * x * x
        off, slope = left - tilt * noise, noise + 1e-9
        for c in range(size):
            mass = max(found[0, c], 1e-300)
            mean = found[1, c] / mass
            off -= told[c] * mean
            slope += told[c] * (found[2, c] / mass - mean * mean)
        tilt += min(max(off / slope, -_TILT_STEP), _TILT_STEP)
        tilt = min(max(tilt, -_MOST_TILT), _MOST_TILT)
    return tilt
