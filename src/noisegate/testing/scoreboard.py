"""The table of figures: what was said in many worlds, added up by what was asked, the law of the counts, and the way of publishing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError
from noisegate.testing.scoring import BANDS, HIDDEN, KINDS, Answering, Replies, ask_world
from noisegate.testing.ways import CASES, WAYS, can_be_published, publish_case
from noisegate.testing.worlds import LinkedWorld

Bools = NDArray[np.bool_]

#: A hidden cell less likely to be empty than this is said to hold somebody.
SURE = 0.01
#: So many of the sharpest cells are looked at by themselves.
SHARPEST = 60
_EVERY = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Averages over what was told, and what was withdrawn.

    `wide` and `half` are the shares of truths in 95 and 50 % intervals, their ends in part; `held` that in 95 % intervals with their ends. `score` is the
    mean interval score at 95 %, `empty` the mean log score of "empty?". `bounds_held` is the share of withdrawn answers whose bounds held.
    """

    asked: int
    withdrawn: int
    bounds_held: float
    held: float
    wide: float
    half: float
    score: float
    empty: float | None = None

    @property
    def right(self) -> float:
        """The share that is right at 95 %: told and held, or withdrawn with bounds that held."""
        told = self.asked - self.withdrawn
        held = (self.held * told if told else 0.0) + (
            self.bounds_held * self.withdrawn if self.withdrawn else 0.0
        )
        return held / max(self.asked, 1)

    @classmethod
    def of(cls, some: Sequence[Replies], /, *, band: tuple[float, float] = _EVERY) -> Tallied | None:
        """The averages over quantities whose truth has some size; None if there are none."""
        inside = [(np.abs(one.truth) >= band[0]) & (np.abs(one.truth) < band[1]) for one in some]
        asked = sum(int(which.sum()) for which in inside)
        if not asked:
            return None
        told = [which & ~one.withdrawn for one, which in zip(some, inside, strict=True)]
        gone = [which & one.withdrawn for one, which in zip(some, inside, strict=True)]

        def mean(what: Callable[[Replies], Any], which: Sequence[Bools]) -> float:
            values = np.concatenate([what(one)[chosen] for one, chosen in zip(some, which, strict=True)])
            return float(values.mean()) if values.size else float("nan")

        cells = all(one.p_zero is not None for one in some)
        return cls(
            asked=asked,
            withdrawn=sum(int(which.sum()) for which in gone),
            bounds_held=mean(lambda one: one.holds(1), gone),
            held=mean(lambda one: one.holds(1), told),
            wide=mean(lambda one: one.covered(1), told),
            half=mean(lambda one: one.covered(0), told),
            score=mean(lambda one: one.interval_score(1), told),
            empty=mean(lambda one: one.log_score(), inside) if cells else None,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Scoreboard:
    """What was said in many worlds, by the law of their counts and the way they were published.

    `refused` are the worlds of which an engine said nothing at all, each with the reason.
    """

    entries: list[tuple[str, str, Replies]] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, law: str, way: str, said: Sequence[Replies], /) -> None:
        """Take up one world."""
        self.entries += [(law, way, one) for one in said]

    def some(self, *, kind: str, law: str | None = None, way: str | None = None) -> list[Replies]:
        """What was said of one kind, in worlds of one law and way, or of all."""
        return [
            one
            for its_law, its_way, one in self.entries
            if one.kind == kind and law in {None, its_law} and way in {None, its_way}
        ]

    def tally(
        self,
        *,
        kind: str,
        law: str | None = None,
        way: str | None = None,
        band: tuple[float, float] = _EVERY,
    ) -> Tallied | None:
        """The averages of one kind; None if nothing was asked."""
        return Tallied.of(self.some(kind=kind, law=law, way=way), band=band)

    @property
    def laws(self) -> list[str]:
        """The laws of the worlds that were taken up."""
        return list(dict.fromkeys(law for law, _, _ in (*self.entries, *self.refused)))

    @property
    def ways(self) -> list[str]:
        """How they were published."""
        return list(dict.fromkeys(way for _, way, _ in (*self.entries, *self.refused)))

    def occupied(self, *, law: str | None = None, way: str | None = None) -> tuple[int, int]:
        """How many hidden cells were said to hold somebody, and how many of these do."""
        named = right = 0
        for one in self.some(kind="cells", law=law, way=way):
            assert one.p_zero is not None
            sure = (one.p_zero < SURE) & ~one.withdrawn
            named, right = named + int(sure.sum()), right + int((one.truth[sure] > 0).sum())
        return named, right

    def sharpest(self, *, law: str | None = None, way: str | None = None) -> float:
        """The share of the sharpest hidden cells of each world whose interval holds the truth."""
        held = [
            one.holds(1)[
                np.argsort(np.where(one.withdrawn, np.inf, one.high[1] - one.low[1]), kind="stable")[
                    :SHARPEST
                ]
            ]
            for one in self.some(kind="cells", law=law, way=way)
        ]
        return float(np.concatenate(held).mean()) if held else float("nan")

    def to_markdown(self) -> str:
        """One table for each way of publishing, a row for each law of the counts, and one of random sums by the size of the truth."""
        parts = []
        for way in self.ways:
            there = {pair[0] for pair in (*self.entries, *self.refused) if pair[1] == way}
            laws = [law for law in self.laws if law in there]
            rows = [self._row(law, law, way) for law in laws] + [self._row("all", None, way)]
            parts += [f"## {way}", "", *_grid(HEAD, rows), ""]
        bands = [self._by_band(way) for way in self.ways]
        head = [
            "published",
            *(f"{a:,.0f} to {b:,.0f}" if b < np.inf else f"{a:,.0f} and more" for a, b in BANDS),
        ]
        return "\n".join([*parts, "## Random sums by the size of the truth", "", *_grid(head, bands)]) + "\n"

    def _row(self, name: str, law: str | None, way: str, /) -> list[str]:
        found = {kind: self.tally(kind=kind, law=law, way=way) for kind in KINDS}
        pairs = [_pair(found[kind]) for kind in HIDDEN]
        pairs += [_pair(found["cells"], whole=True), _pair(found["random sums"])]
        rights = [_right(found[kind]) for kind in ("differences", "ratios", "top-ten ranks")]
        cells, named = found["cells"], self.occupied(law=law, way=way)
        empty = "–" if cells is None or cells.empty is None else f"{cells.empty:.2f}"
        surely = f"{named[1]} of {named[0]}" if named[0] else "–"
        sharpest = self.sharpest(law=law, way=way)
        refused = sum(its_way == way and law in {None, its_law} for its_law, its_way, _ in self.refused)
        return [
            name + (f" ({refused} refused)" if refused else ""),
            *pairs,
            *rights,
            empty,
            surely,
            "–" if np.isnan(sharpest) else f"{100 * sharpest:.0f}",
        ]

    def _by_band(self, way: str, /) -> list[str]:
        return [way, *(_pair(self.tally(kind="random sums", way=way, band=band)) for band in BANDS)]


def run_cases(
    cases: Sequence[str],
    ways: Sequence[str],
    /,
    *,
    replicates: int,
    first: int = 0,
    seed: int = 1,
    engine: Callable[[LinkedWorld], Answering] = LinkedWorld.engine,
    draws: int = 400,
    only_hidden: bool = False,
    said: Callable[[str, str, int], None] = lambda _case, _way, _done: None,
    **size: int,
) -> Scoreboard:
    """Ask an engine about so many worlds of each case and way; the same seed gives the same worlds, whatever else is asked.

    With `first`, those before it are left out: they were asked about already. With `only_hidden` only hidden sums are asked for. `said` is told how far it is.
    """
    board = Scoreboard()
    for case in cases:
        for way in ways:
            for number in range(first, first + (replicates if can_be_published(case, way) else 0)):
                place = (list(CASES).index(case), list(WAYS).index(way))
                rng = np.random.default_rng([seed, *place, number])
                world = publish_case(case, way, rng=rng, **size)
                try:
                    replies = ask_world(world, engine(world), rng=rng, draws=draws, only_hidden=only_hidden)
                    board.add(case, way, replies)
                except DataError as reason:
                    board.refused.append((case, way, str(reason)))
                said(case, way, number + 1)
    return board


#: The columns of the table.
HEAD = [
    "counts",
    "one total",
    "a group",
    "the table",
    "cells",
    "random sums",
    "differences",
    "ratios",
    "ranks",
    "empty?",
    "surely somebody",
    "sharpest",
]


def _percent(share: float, /) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f}"


def _pair(one: Tallied | None, /, *, whole: bool = False) -> str:
    """Coverage at 95 and at 50 %, and what was withdrawn; with `whole`, ends of 95 % intervals are in them."""
    if one is None:
        return "–"
    gone = one.withdrawn / one.asked
    told = "" if gone == 1 else f"{_percent(one.held if whole else one.wide)} / {_percent(one.half)}"
    return (told + (f" ({_percent(gone)} w, {_percent(one.bounds_held)})" if gone else "")).strip()


def _right(one: Tallied | None, /) -> str:
    if one is None:
        return "–"
    gone = one.withdrawn / one.asked
    return _percent(one.right) + (f" ({_percent(gone)} w)" if gone else "")


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], /) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
