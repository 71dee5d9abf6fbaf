"""How well an engine does in worlds whose truth is known: coverage, interval score, log score of "empty?".

One harness for every engine and every world: `ask_world` asks an engine about cells, about hidden sums under each total, under groups of totals and of the
whole table, about random sums, and about ratios, differences and ranks; `Scoreboard` adds up what was said beside the truth.

*In part.* An interval of whole numbers holds more than its level, because its ends are in it wholly. So a truth at an end counts a half; one in an interval of one or two numbers,
which is as short as whole numbers can be, counts the level; and one at an end that is 0 counts in full, since nothing lies below. Engines that are right reach the level itself, up to a point or two.

*Withdrawn* answers ("the tables do not tell: between a and b") are counted apart: right if their bounds hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.inference import CellEstimates, SumEstimates
from noisegate.laws import as_rng
from noisegate.query import JointSums, Spans, joint_sums, withdrawn_of
from noisegate.testing.worlds import LinkedWorld

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEVELS = (0.5, 0.95)
#: Sizes of the truth, from and below.
BANDS = ((0, 30), (30, 500), (500, 3_000), (3_000, np.inf))
#: What is asked, in the order of the table.
KINDS = (
    "cells",
    "hidden, one total",
    "hidden, a group",
    "hidden, the table",
    "random sums",
    "differences",
    "ratios",
    "top-ten ranks",
)
HIDDEN = KINDS[1:4]
ASKED = KINDS[4:]


class Answering(Protocol):
    """What the harness asks of an engine: also an oracle is one. `draws`, if it has them, are asked for ratios, differences and ranks."""

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell."""

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replies:
    """What was said of some quantities of one kind, beside the truth: for each of `LEVELS` an interval.

    `truth_to` is the other end of the truth where several answers are right (the rank of groups that are equal). `whole` says that
    quantities are whole numbers, `p_zero` how likely cells are empty.
    """

    kind: str
    truth: Floats
    low: Floats
    high: Floats
    withdrawn: Bools
    truth_to: Floats | None = None
    whole: bool = True
    p_zero: Floats | None = None

    def __post_init__(self) -> None:
        assert self.low.shape == self.high.shape == (len(LEVELS), len(self.truth))

    def covered(self, level: int, /) -> Floats:
        """1 where the interval holds the truth, in part where the truth is one of its ends."""
        low, high, truth = self.low[level], self.high[level], self.truth
        if not self.whole or self.truth_to is not None:
            to = truth if self.truth_to is None else self.truth_to
            return np.asarray((to >= low) & (truth <= high), np.float64)
        found: Floats = ((low < truth) & (truth < high)).astype(np.float64)
        at_end = ((truth == low) | (truth == high)) & (low <= high)
        found[at_end] = 0.5
        found[(truth == 0) & (low == 0) & (high > 0)] = 1.0
        found[at_end & (high - low <= 1)] = LEVELS[level]
        return found

    def holds(self, level: int, /) -> Bools:
        """Where the interval with its ends holds the truth."""
        to = self.truth if self.truth_to is None else self.truth_to
        return np.asarray((to >= self.low[level]) & (self.truth <= self.high[level]))

    def interval_score(self, level: int, /) -> Floats:
        """The width, and a penalty for each unit that the truth lies outside by."""
        low, high, truth = self.low[level], self.high[level], self.truth
        outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        return np.asarray(high - low + 2 / (1 - LEVELS[level]) * outside)

    def log_score(self) -> Floats:
        """Nats by which the word on "empty?" was off, cell by cell; at most 14, which is one in a million."""
        assert self.p_zero is not None
        right = np.where(self.truth == 0, self.p_zero, 1 - self.p_zero)
        return np.asarray(-np.log(np.maximum(right, 1e-6)))


def ask_world(
    world: LinkedWorld,
    engine: Answering,
    /,
    *,
    rng: np.random.Generator,
    sums: int = 24,
    draws: int = 400,
    only_hidden: bool = False,
) -> list[Replies]:
    """Everything that the harness asks, of one world; with `only_hidden` no more than hidden sums under totals."""
    generator = as_rng(rng)
    if only_hidden:
        return list(_hidden(world, engine))
    found = [_cells(world, engine), *_hidden(world, engine)]
    boxes = random_boxes(world, sums, rng=generator)
    found.append(_sums(world, engine, "random sums", *boxes))
    if draws and getattr(engine, "draws", None) is not None:
        found += _joint(world, engine, boxes, draws=draws, rng=generator)
    return [one for one in found if len(one.truth)]


def _cells(world: LinkedWorld, engine: Answering, /) -> Replies:
    """Hidden cells; all of them where noise or rounding is all that hides a count."""
    known = [engine.cells(level) for level in LEVELS]
    hidden = world.hidden if world.hidden.size else np.arange(len(world.counts))
    return Replies(
        kind="cells",
        truth=world.counts[hidden].astype(np.float64),
        low=np.array([one.low[hidden] for one in known], np.float64),
        high=np.array([one.high[hidden] for one in known], np.float64),
        withdrawn=withdrawn_of(known[1], len(world.counts))[hidden],
        p_zero=known[1].p_zero[hidden],
    )


def _hidden(world: LinkedWorld, engine: Answering, /) -> Iterator[Replies]:
    """Hidden cells of each shown total of the first margin, of groups of these, and of all of them."""
    if not world.margins or not world.hidden.size:
        return
    name, margin = next(iter(world.margins.items()))
    hidden = world.hidden
    row = margin.of(hidden)
    there = ~np.isnan(world.published[name][row])
    hidden, row = hidden[there], row[there]
    if not hidden.size:
        return
    rows = len(world.published[name])
    for kind, size in zip(HIDDEN, (rows, min(5, rows), 1), strict=True):
        groups = row * size // rows
        some = np.flatnonzero(np.bincount(groups, minlength=size))
        place = np.full(size, -1, np.int64)
        place[some] = np.arange(len(some))
        yield _sums(world, engine, kind, hidden, place[groups], len(some))


def random_boxes(world: LinkedWorld, count: int, /, *, rng: np.random.Generator) -> tuple[Ints, Ints, int]:
    """Cells and groups of random boxes: some labels of each dimension, from one to all."""
    codes = world.domain.decode(np.arange(world.domain.size))
    cells: list[Ints] = []
    groups: list[Ints] = []
    while len(cells) < count:
        inside = np.ones(world.domain.size, bool)
        for code, dimension in zip(codes, world.domain.dimensions, strict=True):
            labels = len(dimension.labels)
            if rng.random() < 0.7:
                many = min(labels, 1 + int(labels * rng.random() ** 3))
                inside &= np.isin(code, rng.choice(labels, many, replace=False))
        chosen = np.flatnonzero(inside)
        if chosen.size:
            groups.append(np.full(len(chosen), len(cells)))
            cells.append(chosen)
    return np.concatenate(cells), np.concatenate(groups), count


def _truth(world: LinkedWorld, cells: Ints, groups: Ints, size: int, /) -> Floats:
    return np.bincount(groups, weights=world.counts[cells], minlength=size).astype(np.float64)


def _sums(
    world: LinkedWorld, engine: Answering, kind: str, cells: Ints, groups: Ints, size: int, /
) -> Replies:
    known = [engine.sums(cells, groups, size=size, level=level) for level in LEVELS]
    return Replies(
        kind=kind,
        truth=_truth(world, cells, groups, size),
        low=np.array([one.low for one in known], np.float64),
        high=np.array([one.high for one in known], np.float64),
        withdrawn=withdrawn_of(known[1], size),
    )


def _joint(
    world: LinkedWorld,
    engine: Any,
    boxes: tuple[Ints, Ints, int],
    /,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Iterator[Replies]:
    """Differences and ratios of random sums, and the ranks of the ten labels of the first dimension that look largest."""
    cells, groups, size = boxes
    every = np.arange(world.domain.size)
    rows = world.domain.decode(every)[0]
    labels = len(world.domain.dimensions[0].labels)
    tables = engine.draws(draws, rng=rng)
    drawn = joint_sums(
        tables, np.concatenate([cells, every]), np.concatenate([groups, size + rows]), size=size + labels
    )
    truth = _truth(world, cells, groups, size)
    together = _together(engine, drawn[:, :size], cells, groups)
    first, second = np.arange(0, size - 1, 2), np.arange(1, size, 2)
    spans = [together.difference(first, second, level=level) for level in LEVELS]
    yield _spans("differences", truth[first] - truth[second], spans, whole=True)
    some = truth[second] > 0
    first, second = first[some], second[some]
    spans = [together.ratio(first, second, level=level) for level in LEVELS]
    yield _spans("ratios", truth[first] / truth[second], spans, whole=False)
    yield _ranked(_truth(world, every, rows, labels), _together(engine, drawn[:, size:], every, rows))


def _ranked(truth: Floats, ranked: JointSums, /) -> Replies:
    """The ranks of the ten groups that look largest; groups that are equal may have any rank that they share."""
    labels = len(truth)
    top = np.argsort(-ranked.draws.mean(axis=0), kind="stable")[:10]
    spans = [ranked.ranks(level=level) for level in LEVELS]
    ordered = np.sort(truth)
    best = 1 + labels - np.searchsorted(ordered, truth, side="right")
    worst = labels - np.searchsorted(ordered, truth, side="left")
    return Replies(
        kind="top-ten ranks",
        truth=best[top].astype(np.float64),
        low=np.array([one.low[top] for one in spans]),
        high=np.array([one.high[top] for one in spans]),
        withdrawn=spans[1].withdrawn[top],
        truth_to=worst[top].astype(np.float64),
    )


def _together(engine: Any, drawn: Floats, cells: Ints, groups: Ints, /) -> JointSums:
    size = drawn.shape[1]
    known = engine.sums(cells, groups, size=size, level=LEVELS[1])
    return JointSums.matched(drawn, known)


def _spans(kind: str, truth: Floats, spans: Sequence[Spans], /, *, whole: bool) -> Replies:
    return Replies(
        kind=kind,
        truth=truth,
        low=np.array([one.low for one in spans]),
        high=np.array([one.high for one in spans]),
        withdrawn=spans[1].withdrawn,
        whole=whole,
    )
