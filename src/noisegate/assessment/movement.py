"""Trajectories from counts: the assignment attack of Xu and others (2017), its null models, and how right all are.

Counts of people in every place at every time, of the same people throughout, say nothing of who moved where; but people mostly stay
where they are, or go on as they went. *Trajectory Recovery From Ash* (Xu, Tu, Li, Zhang, Fu, Jin, WWW 2017) follows them: from one time to the
next every person is assigned a place such that all counts are met and the sum of distances from where each was expected is least; and the
pieces of several days are put together such that the places visited become least mixed. D'Silva and others (arXiv 2409.14645) found the
accuracy lower than was claimed. What is right is the share of (person, time) points in which a recovered trajectory agrees with that of the
person it fits best, one person each. Fitting makes any guess look good, so two null models stand beside, and the better one counts: people are put into places
at random, all counts met; and everybody stays for ever where people are on average, which knows no movement at all.

It does not work where counts are of events (taps, trips) and not of people who are there; where people come and go, so that totals
change; where many people are in each place, of whom some leave: it cannot tell which, and of commuters it says no more than that people
stay; and under noise of the size of the counts. It works where few people move through many places step by step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: People that are followed at most: an assignment takes time with the cube of their number.
MOST_FOLLOWED = 800
#: Draws of the null model.
_DRAWS = 3
#: Two numbers in a label: the place on a grid.
_GRID = re.compile(r"\D*(-?\d+)\D+(-?\d+)\D*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovementScore:
    """How right recovered trajectories are, beside null models.

    Attributes
    ----------
    right
        The share of points in which they agree with the people they fit best.
    random
        The same for people who are put into places at random, all counts met: the mean of three draws.
    staying
        The same for people who stay for ever where people are on average.
    persons, times
        How many were followed, over how many times.
    """

    right: float
    random: float
    staying: float
    persons: int
    times: int

    @property
    def null(self) -> float:
        """The better of both null models: what is right without following anybody."""
        return max(self.random, self.staying)

    @property
    def gain(self) -> float:
        """What the attack adds: of what the null model misses, the share that it has right."""
        return (self.right - self.null) / max(1e-12, 1 - self.null)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "right": round(self.right, 4),
            "null": round(self.null, 4),
            "null_random": round(self.random, 4),
            "null_staying": round(self.staying, 4),
            "gain": round(self.gain, 4),
            "persons": self.persons,
            "times": self.times,
        }


def recover_trajectories(
    counts: Ints, /, *, distance: Floats | None = None, per_day: int | None = None
) -> Ints:
    """A place for every person at every time, such that all counts are met; shape (persons, times).

    Parameters
    ----------
    counts
        Shape (times, places): how many people are in each place. Every time has the same total.
    distance
        Between places; None counts a move as 1 and staying as 0.
    per_day
        How many times a day has; days are followed one by one and then put together. None: one day.
    """
    people = _closed(counts)
    if people > MOST_FOLLOWED:
        raise SpecError(f"{people:,} people are too many to follow; at most {MOST_FOLLOWED:,} are.")
    apart = 1.0 - np.eye(counts.shape[1]) if distance is None else np.asarray(distance, float)
    day = per_day or len(counts)
    pieces = [_followed(counts[first : first + day], apart) for first in range(0, len(counts), day)]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = np.concatenate([whole, piece[_linked(whole, piece, counts.shape[1])]], axis=1)
    return whole


def random_trajectories(counts: Ints, /, *, rng: np.random.Generator) -> Ints:
    """The null model: people are put into places at random at every time, all counts met."""
    _closed(counts)
    places = np.arange(counts.shape[1])
    return np.stack([rng.permutation(np.repeat(places, row)) for row in counts], axis=1)


def staying_trajectories(counts: Ints, /) -> Ints:
    """The other null model: everybody stays for ever, in places filled as they are on average."""
    people = _closed(counts)
    (filled,) = as_closed(counts.mean(axis=0)[None, :], people=people)
    return np.repeat(np.repeat(np.arange(counts.shape[1]), filled)[:, None], len(counts), axis=1)


def score_trajectories(
    recovered: Ints, truth: Ints, counts: Ints, /, *, rng: np.random.Generator
) -> MovementScore:
    """How often recovered trajectories are right, beside null models with the same counts."""
    nulls = [_right(random_trajectories(counts, rng=rng), truth) for _ in range(_DRAWS)]
    return MovementScore(
        right=_right(recovered, truth),
        random=float(np.mean(nulls)),
        staying=_right(staying_trajectories(counts), truth),
        persons=truth.shape[0],
        times=truth.shape[1],
    )


def as_closed(counts: Floats, /, *, people: int | None = None) -> Ints:
    """Noisy, rounded or cut counts as counts of one number of people at every time: scaled, and rounded to meet it.

    What is missing or below zero is taken for nobody. The number is the median of the totals if it is not known.
    """
    shown = np.maximum(np.nan_to_num(counts), 0.0)
    whole = round(float(np.median(shown.sum(axis=1)))) if people is None else people
    rows = []
    for row in shown:
        share = row / row.sum() if row.sum() > 0 else np.full(row.size, 1 / row.size)
        exact = share * whole
        low = np.floor(exact).astype(np.int64)
        low[np.argsort(low - exact, kind="stable")[: whole - int(low.sum())]] += 1
        rows.append(low)
    return np.stack(rows)


def places_apart(labels: Sequence[str], /) -> Floats | None:
    """Distances between places whose labels are two numbers (a grid); None if some are not."""
    found = [_GRID.fullmatch(label) for label in labels]
    if not all(found):
        return None
    at = np.array([[float(one.group(1)), float(one.group(2))] for one in found if one is not None])
    apart: Floats = np.hypot(*(at[:, None, :] - at[None, :, :]).transpose(2, 0, 1))
    return apart


def _closed(counts: Ints, /) -> int:
    totals = np.asarray(counts).sum(axis=1)
    if counts.ndim != 2 or not len(counts) or (counts < 0).any() or (totals != totals[0]).any():
        raise SpecError(
            "trajectories need counts of the same people at every time: all totals equal, none below 0."
        )
    return int(totals[0])


def _followed(counts: Ints, apart: Floats, /) -> Ints:
    """One day: every step the assignment with the least way from where each is expected, which is where it was or where it was going."""
    from scipy.optimize import linear_sum_assignment

    places = np.arange(counts.shape[1])
    path = [np.repeat(places, counts[0])]
    for row in counts[1:]:
        slots = np.repeat(places, row)
        cost = apart[path[-1]][:, slots]
        if len(path) > 1:
            # Who moved is expected to go on; a little, so that staying is preferred where both fit.
            moved = path[-1] != path[-2]
            cost = cost + np.where(moved[:, None], _GOING_ON * apart[path[-2]][:, slots] * -1.0, 0.0)
        _, chosen = linear_sum_assignment(cost)
        path.append(slots[chosen])
    return np.stack(path, axis=1)


#: How much the way back counts against a place, for who is on the way: far from where one came from is preferred.
_GOING_ON = 0.1


def _linked(whole: Ints, piece: Ints, places: int, /) -> Ints:
    """Which piece of the next day belongs to whom: the pairs that mix the places visited least (the least gain of entropy)."""
    from scipy.optimize import linear_sum_assignment

    before, after = (_shares(one, places) for one in (whole, piece))
    weight = whole.shape[1] / (whole.shape[1] + piece.shape[1])
    cost = np.empty((len(before), len(after)))
    mixed_after = _entropy(after)
    for row, one in enumerate(before):
        cost[row] = _entropy(weight * one + (1 - weight) * after) - (1 - weight) * mixed_after
    _, chosen = linear_sum_assignment(cost)
    return np.asarray(chosen, np.int64)


def _shares(path: Ints, places: int, /) -> Floats:
    found = np.zeros((len(path), places))
    np.add.at(found, (np.repeat(np.arange(len(path)), path.shape[1]), path.ravel()), 1.0)
    return np.asarray(found / path.shape[1])


def _entropy(shares: Floats, /) -> Floats:
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=-1))


def _right(recovered: Ints, truth: Ints, /) -> float:
    """The share of points that agree, each recovered trajectory fitted to one person."""
    from scipy.optimize import linear_sum_assignment

    agree = np.zeros((len(recovered), len(truth)))
    for one, two in zip(recovered.T, truth.T, strict=True):
        agree += one[:, None] == two[None, :]
    rows, chosen = linear_sum_assignment(agree, maximize=True)
    return float(agree[rows, chosen].sum()) / truth.size
