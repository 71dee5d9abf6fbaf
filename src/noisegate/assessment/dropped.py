"""What was dropped: rows by the public domain, and trips by the totals they are missing from.

A total less its published parts is the raw count of the parts that are not published, plus noise whose law is known. Added up
over all rows of a margin, that estimates the trips that the base does not show. Values just above a
cut are there because their noise was high rather than low, which overstates the published parts; this is taken off
(`inference.ThresholdExcess`), as it is for the suppressed totals of the inference.

Rows and trips that were dropped, and whether what is said about them can be true.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.finding import Check, Result, assumed
from noisegate.assessment.inference import Inference
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.rows import PossibleRows, RowCount, chosen_cells
from noisegate.assessment.words import ends, percent
from noisegate.inference import SumEstimates, ThresholdExcess
from noisegate.laws import Law, RandomRounding
from noisegate.mechanisms import Mechanism
from noisegate.reading import Structure
from noisegate.recovery import Makers, MarginRows, noise_interval, perturbed_apart
from noisegate.tables import Table
from noisegate.timetable import mode_of_word

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

ASSUMES = (
    "each margin counts the same events as the base, with noise of its own",
    "raw counts thin out smoothly about the cut of each table",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TripShare:
    """How many trips a table does not show.

    Attributes
    ----------
    total
        All trips, as the margin tells.
    dropped, low, high
        The trips that are not shown, and an interval for them.
    noises
        How many noises the estimate holds.
    rows_missing
        Rows of the margin that are suppressed themselves: what they hold comes on top.
    told
        Whether the tables tell; if not, `low` and `high` are bounds.
    """

    source: str
    total: float
    dropped: float
    low: float
    high: float
    level: float
    noises: int
    rows_missing: int
    told: bool = True

    @property
    def share(self) -> float:
        """The share of all trips."""
        return self.dropped / self.total if self.total > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """An interval for the share."""
        return (self.low / self.total, self.high / self.total) if self.total > 0 else (0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "source": self.source,
            "total": round(self.total, 1),
            "dropped": round(self.dropped, 1),
            "interval": [round(self.low, 1), round(self.high, 1)],
            "share": self.share,
            "share_interval": list(self.interval),
            "level": self.level,
            "noises": self.noises,
            "margin_rows_suppressed": self.rows_missing,
            "status": "estimate" if self.told else "withdrawn",
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dropped:
    """What the tables of a structure do not show.

    `rows` are the links to the margins, and `mechanisms` how each table was made, by name. Without
    noise, rows can be counted and trips cannot.
    """

    structure: Structure
    possible: PossibleRows
    rows: tuple[MarginRows, ...]
    mechanisms: Mapping[str, Mechanism]
    level: float
    inference: Inference | None = None
    _excesses: dict[str, ThresholdExcess] = field(default_factory=dict, repr=False)
    _group_of: dict[str, Ints] = field(default_factory=dict, repr=False)
    _said: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        structure: Structure,
        rows: Sequence[MarginRows],
        makers: Makers,
        /,
        *,
        level: float,
        inference: Inference | None = None,
    ) -> Dropped:
        """What is dropped from the tables of `structure`; margins that a card calls derived or reconciled tell nothing."""
        shared = makers.card is not None and makers.card.margins in ("derive", "reconcile")
        seen = [makers.of(cells, structure) for cells in structure.tables]
        return cls(
            structure=structure,
            possible=PossibleRows.of(structure),
            rows=() if shared else tuple(rows),
            mechanisms={one.cells.name: one.mechanism for one in seen if one is not None},
            level=level,
            inference=inference,
        )

    def count(self, cells: Table, chosen: Mapping[int, int], /) -> RowCount:
        """Possible and published rows of a table with some values fixed."""
        return self.possible.count(cells, chosen)

    def trips(self, cells: Table, chosen: Mapping[int, int], /) -> TripShare | None:
        """The trips that a table does not show; None if no other table tells.

        *Assumes* `ASSUMES`. *Guarantee*: the interval is that of the exact law of the noise in the estimate.
        """
        if cells is not self.structure.base:
            return None
        found = [self._from_margin(rows, chosen) for rows in self.rows if _has_own_noise(rows)]
        usable = [one for one in found if one is not None]
        best = min(usable, key=lambda one: (one.rows_missing, one.high - one.low)) if usable else None
        inferred = None if self.inference is None or best is None else self.inference.hidden_sum(chosen)
        return best if best is None or inferred is None else self._inferred(best, inferred, chosen)

    def _inferred(self, by_margin: TripShare, found: SumEstimates, chosen: Mapping[int, int], /) -> TripShare:
        """The same number as the suppressed total of the inference, which holds rows of the margin that are suppressed themselves."""
        base = self.structure.base
        shown = float(base.values[chosen_cells(base, chosen)].sum())
        dropped = float(found.mean[0])
        return replace(
            by_margin,
            total=max(shown + dropped, by_margin.total),
            dropped=dropped,
            low=float(found.low[0]),
            high=float(found.high[0]),
            rows_missing=0,
            told=bool(found.told[0]),
        )

    def _from_margin(self, rows: MarginRows, chosen: Mapping[int, int], /) -> TripShare | None:
        """The trips missing from the base according to one margin."""
        link, base = rows.link, self.structure.base
        part, whole = self._law(base), self._law(link.margin)
        inside = _margin_rows(rows, chosen)
        if part is None or whole is None or inside is None or not inside.any():
            return None
        there = np.zeros(link.margin.size + 1, dtype=bool)  # the last is for cells of no row
        there[rows.rows[inside]] = True
        mine = there[self._groups(rows)] & chosen_cells(base, chosen)
        members = (rows.link.margin.values[np.searchsorted(link.margin.cells, rows.rows[inside])]).astype(
            float
        )
        pieces = rows.pieces.number or 1 if rows.pieces is not None else 1
        laws = [(whole, int(inside.sum())), (part, int(mine.sum()) * pieces)]
        over_parts, doubt = self._excess(base, base.values[mine].astype(float))
        over_total, more = self._excess(link.margin, members)
        dropped = float(rows.residual[inside].sum()) + over_parts - over_total
        low, high = noise_interval(laws, self.level)
        noise = sum(law.variance * n for law, n in laws)
        wider = math.sqrt(1 + (doubt + more) / noise) if noise > 0 else 1.0
        low, high = wider * low, wider * high
        possible = link.comparable & _suppressed_rows(rows, chosen)
        return TripShare(
            source=link.margin.name,
            total=float(members.sum()) - over_total,
            dropped=max(dropped, 0.0),
            low=max(dropped - high, 0.0),
            high=max(dropped - low, 0.0),
            level=self.level,
            noises=sum(n for _, n in laws),
            rows_missing=int(possible.sum()),
        )

    def _groups(self, rows: MarginRows, /) -> Ints:
        """The row of a margin of each published cell of the base; -1 for none."""
        name = rows.link.margin.name
        if name not in self._group_of:
            self._group_of[name] = rows.link.group_of(self.structure.base.cells)
        return self._group_of[name]

    def _law(self, cells: Table, /) -> Law | None:
        """The noise of a table, as it shows in published values."""
        made = self.mechanisms.get(cells.name)
        return None if made is None else made.published_law

    def _excess(self, cells: Table, values: NDArray[np.float64], /) -> tuple[float, float]:
        """By how much some values of a table exceed their raw counts, because low noise was cut away, and the variance of that."""
        made = self.mechanisms[cells.name]
        if isinstance(made.law, RandomRounding):  # what is left out is left out before it is rounded
            return 0.0, 0.0
        if cells.name not in self._excesses:
            self._excesses[cells.name] = ThresholdExcess.of(cells.values.astype(float), made)
        found, doubt = self._excesses[cells.name].added(values, np.zeros(len(values), np.int64), 1)
        return float(found[0]), float(doubt[0])

    def by_mode(self) -> Iterator[tuple[Table, str | None, Mapping[int, int]]]:
        """Every table in all, and mode by mode."""
        for cells in self.structure.tables:
            yield cells, None, {}
            place = mode_place(cells)
            if place is not None:
                for code, label in enumerate(cells.dimensions[place].labels):
                    yield cells, label, {place: code}

    def to_json(self) -> list[dict[str, Any]]:
        """Rows and trips by table and mode, as plain values for JSON; worked out once."""
        if not self._said:
            self._said.extend(self._by_table_and_mode())
        return [dict(one) for one in self._said]

    def _by_table_and_mode(self) -> list[dict[str, Any]]:
        found = []
        for cells, mode, chosen in self.by_mode():
            rows = self.count(cells, chosen)
            if not rows.possible:
                continue
            trips = self.trips(cells, chosen) if rows.suppressed else None
            found.append(
                {
                    "table": cells.name,
                    "mode": mode,
                    "possible": rows.possible,
                    "published": rows.published,
                    "suppressed": rows.suppressed,
                    "share": rows.share,
                    "trips": None if trips is None else trips.to_json(),
                }
            )
        return found


def _has_own_noise(rows: MarginRows, /) -> bool:
    """Whether nothing speaks against a margin with noise of its own that counts what the base lists."""
    return perturbed_apart(rows) is not False and bool(rows.residual.any()) and not rows.link.unlisted


def mode_place(cells: Table, /) -> int | None:
    """The dimension that tells modes apart: the one whose values are words for modes; None if there is none."""
    for place, dimension in enumerate(cells.dimensions):
        known = [
            word for word, lost in zip(dimension.labels, dimension.unknown.tolist(), strict=True) if not lost
        ]
        if known and all(mode_of_word(word) is not None for word in known):
            return place
    return None


def _margin_rows(rows: MarginRows, chosen: Mapping[int, int], /) -> Flags | None:
    """Which rows of a margin are about the chosen values; None if it does not tell them apart."""
    places = _margin_places(rows, chosen)
    if places is None:
        return None
    codes = rows.link.margin.codes(rows.rows)
    out = np.ones(rows.rows.size, dtype=bool)
    for place, code in places.items():
        out &= codes[place] == code
    return out


def _suppressed_rows(rows: MarginRows, chosen: Mapping[int, int], /) -> Flags:
    """Which rows of the margin's domain are about the chosen values and not published."""
    link = rows.link
    codes = link.margin.codes(np.arange(link.margin.size))
    out: Flags = ~link.published
    for place, code in (_margin_places(rows, chosen) or {}).items():
        out &= codes[place] == code
    return out


def _margin_places(rows: MarginRows, chosen: Mapping[int, int], /) -> dict[int, int] | None:
    """The chosen values of the base in the codes of a margin; None if it lacks one of the dimensions."""
    base, margin = rows.link.base, rows.link.margin
    found: dict[int, int] = {}
    for place, code in chosen.items():
        key = base.dimensions[place].keys[code]
        same = [
            (i, d.keys.index(key))
            for i, d in enumerate(margin.dimensions)
            if d.name == base.dimensions[place].name and key in d.keys
        ]
        if not same:
            return None
        found[same[0][0]] = same[0][1]
    return found


WORDS: Mapping[str, Words] = {}


def ask(facts: Facts, /) -> list[Result]:
    """Rows that each table could have and does not, and the trips behind them."""
    return about_dropped(facts.dropped)


def about_dropped(dropped: Dropped, /) -> list[Result]:
    """Rows that each table could have and does not, and the trips behind them."""
    found = dropped.to_json()
    whole = [one for one in found if one["mode"] is None]
    said = [_row(one) for one in found if one["mode"] is not None or one["trips"] is not None]
    if any(one["trips"] for one in found):
        said += map(assumed, ASSUMES)
    title = "; ".join(
        f"{one['table']} publishes {one['published']:,} of {one['possible']:,} possible rows" for one in whole
    )
    return [
        Check(
            id="dropped-rows",
            outcome="known",
            title=title,
            numbers={
                "tables": [
                    {key: one[key] for key in ("table", "possible", "published", "suppressed")}
                    for one in whole
                ]
            },
            evidence=said,
        )
    ]


def _row(one: dict[str, Any], /) -> str:
    who = one["mode"] or "all"
    text = f"{one['table']}, {who}: {one['suppressed']:,} of {one['possible']:,} rows are missing"
    trips = one["trips"]
    if trips is None:
        return f"{text}."
    low, high = trips["share_interval"]
    if trips["status"] == "withdrawn":
        return f"{text}; how many trips these hold the tables do not tell: {low:.2%} to {high:.2%} of all."
    more = " or more" if trips["margin_rows_suppressed"] else ""
    return f"{text}, with {trips['share']:.2%}{more} of the events ({low:.2%} to {high:.2%}, by {trips['source']})."


def show(assessment: Assessment, /) -> Exhibit:
    """Rows by table and mode, and the share of trips behind those that are missing."""
    rows = [
        (
            one["table"],
            one["mode"] or "all",
            one["possible"],
            one["published"],
            one["suppressed"],
            percent(one["share"]),
            _trips(one["trips"]),
        )
        for one in assessment.dropped.to_json()
    ]
    columns = ("table", "mode", "possible rows", "published", "dropped", "share", "share of events")
    return Exhibit(section="dropped", grids=(Grid.of("Rows possible, published and dropped", columns, rows),))


def _trips(trips: Mapping[str, Any] | None, /) -> str:
    if trips is None:
        return "not known"
    return f"{percent(trips['share'])} ({ends(trips['share_interval'])})"
