"""Identities between a margin and the base, and cells that are sums of pieces perturbed one by one.

A table of quarters of an hour that somebody has summed to the hour looks like an hourly table, but an
hour holds as many noises as quarters were published: between one and four, and nobody says how many.
It shows. Pieces of at least t add up to t or more alone, to 2t or more in twos: counts thin out from t
on and become frequent again at exactly 2t. No table that was cut once has such a valley.

What is then assumed, and said: a piece is a quarter of an hour (unless told otherwise), and a sum of q
pieces that is at least one and a half times q·t holds all q of them. Smaller sums may miss a piece and
are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import Ints
from noisegate.recovery.couplings import Moments, least_published, names
from noisegate.recovery.identities import ResidualIdentities, margin_identities, residual_identities
from noisegate.recovery.lattice import find_lattice
from noisegate.tables import MarginLink, Table

#: How many standard deviations each side of the valley must rise.
_SIGMAS = 5.0
#: And by which factor counts must rise at twice the cut.
_STEEP = 1.2
#: No single value makes up more than this share of the counts at the cut, or at twice of it.
_MOST_OF_ONE = 0.6
#: A sum is taken to be complete when its pieces average this many times the cut.
_AMPLE = 1.5
#: Bins that agencies publish, in minutes; the first that divides a step and is finer is assumed.
_USUAL_BINS = (15, 5, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """How many separately published pieces a cell sums.

    `number` is None when cells are sums and nothing says of how many pieces. `least` is the count from
    which a cell is taken to hold all its pieces.
    """

    number: int | None
    minutes: int | None
    cut: float
    evidence: str

    @property
    def least(self) -> float:
        """The count from which a cell is taken to hold all its pieces."""
        return _AMPLE * (self.number or 1) * self.cut

    @property
    def assumption(self) -> str:
        """What is assumed, in words."""
        return (
            f"a cell is a sum of {self.number} counts of {self.minutes} min, each with its own noise and cut; "
            f"cells of at least {self.least:g} hold all {self.number}, smaller ones are not used"
        )


def find_pieces(cells: Table, /, *, told: int | None = None) -> Pieces | None:
    """Whether the cells of a table are sums of pieces that were cut one by one; None if not.

    Parameters
    ----------
    told
        The width of a piece in minutes, if a person says so.
    """
    step = Moments.of(cells).step
    cut = float(cells.values.min()) if cells.values.size else 0.0
    if told is not None:
        if step is None or told < 1 or step % told or step == told:
            bins = "no time bins" if step is None else f"bins of {step} min"
            raise SpecError(
                f"--summed-from must be a bin that is finer than those of {cells.name} and divides them; "
                f"got {told} min, and it has {bins}."
            )
        return Pieces(number=step // told, minutes=told, cut=cut, evidence="stated")
    evidence = _valley(cells)
    if evidence is None:
        return None
    width = next((w for w in _USUAL_BINS if step and step > w and step % w == 0), None)
    number = step // width if step and width else None
    return Pieces(number=number, minutes=width, cut=cut, evidence=evidence)


def _valley(cells: Table, /) -> str | None:
    """The valley just below twice the cut, in words; None if there is none."""
    counts = cells.values
    if cells.threshold.value is None or not np.issubdtype(counts.dtype, np.integer):
        return None
    if cells.hidden.size or not cells.suppressed:
        return None  # a marker stands for a whole cell, which was cut as one; and where nothing lacks there was no cut
    if find_lattice(counts).base > 1:  # rounding leaves nothing between multiples of its base
        return None
    cut = int(counts.min())
    width = max(3, cut // 3)
    if cut < 2 * width:
        return None
    starts = (cut, 2 * cut - width, 2 * cut)
    first, inside, after = (int(((counts >= low) & (counts < low + width)).sum()) for low in starts)
    rises = [(side - inside) / np.sqrt(max(side + inside, 1)) for side in (first, after)]
    if (
        min(rises) < _SIGMAS
        or after < _STEEP * inside
        or not _breaks_at(counts.astype(np.int64), 2 * cut, width)
        or _of_few_values(counts.astype(np.int64), starts[::2], width)
    ):
        return None
    said = [
        f"{n:,} counts from {low} to {low + width - 1}"
        for n, low in zip((first, inside, after), starts, strict=True)
    ]
    return (
        f"{said[0]}, {said[1]}, {said[2]}: they thin out up to twice the cut of {cut} and then rise, as sums of "
        "counts that were cut one by one do"
    )


def _breaks_at(counts: Ints, place: int, width: int, /) -> bool:
    """Whether counts fall up to a place and are more from there on at once: a valley between two humps turns gently, and where it likes."""

    def number(low: int, high: int) -> int:
        return int(((counts >= low) & (counts < high)).sum())

    half = width // 2
    before, last, first = (number(place + step * half, place + (step + 1) * half) for step in (-2, -1, 0))
    rises = last - before > 2 * np.sqrt(last + before)
    return bool(not rises and first > _STEEP * last)


def _of_few_values(counts: Ints, starts: Sequence[int], width: int, /) -> bool:
    """Whether one value makes up most of the counts from some place on: counts that hardly vary rise anywhere, and are no sums of pieces for it."""
    windows = [np.bincount(counts[(counts >= low) & (counts < low + width)] - low) for low in starts]
    return any(one.max() > _MOST_OF_ONE * one.sum() for one in windows)


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: With so many complete rows, rows with suppressed members add nothing; nor do they when rows are long.
_ENOUGH = 20
_MOST_MISSING, _LONG = 2, 12
#: Rows with as many members are worked out together; so many different numbers of them are used.
_KINDS, _KINDS_MISSING = 8, 5
#: Fewer rows than this prove nothing by being exact.
_FEWEST = 5
#: Counts of so many standard deviations of one noise were not cut off at 0.
_ABOVE_ZERO = 4.0
#: The most rows and the most members that one set holds; more would not sharpen anything.
_MOST_ROWS, _MOST_MEMBERS = 2_000, 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginRows:
    """How a margin compares with the sums of the base.

    Attributes
    ----------
    rows
        The cells of the margin that are published and are sums of base cells.
    residual
        The margin minus the sum of the published base cells.
    missing
        How many of the base cells are suppressed.
    pieces
        What the cells of the base are sums of, if they are.
    stated
        Whether a card says that the tables were made to add up. A total above its published parts then holds
        cells of the public domain that no table shows.
    """

    link: MarginLink
    rows: Ints
    residual: Floats
    missing: Ints
    pieces: Pieces | None = None
    stated: bool = False

    @classmethod
    def of(cls, link: MarginLink, pieces: Pieces | None = None, /, *, stated: bool = False) -> MarginRows:
        """The comparable rows of a link."""
        rows = np.flatnonzero(link.published & link.comparable)
        values = link.margin.values[np.searchsorted(link.margin.cells, rows)]
        residual = values - link.parts[rows]
        unit = _last_decimal((link.base.values, link.margin.values))
        # Shares and other values with decimals: what these leave out, and what sums of them lose.
        if unit < 1:
            residual = np.where(np.abs(residual) <= 0.5001 * unit * (link.members[rows] + 1), 0.0, residual)
        return cls(
            link=link,
            rows=rows,
            residual=residual,
            missing=(link.members - link.shown)[rows],
            pieces=pieces,
            stated=stated,
        )

    @property
    def complete(self) -> Bools:
        """Which rows have every member published."""
        return np.asarray(self.missing == 0)

    @property
    def impossible(self) -> Bools:
        """Which rows no consistent tables could show: parts above the total, or all of them off it.

        Of cells that are sums of pieces, some pieces may be missing, and only the first is proof.
        """
        vague = self.pieces is not None or self.stated
        off = np.zeros(self.rows.size, dtype=bool) if vague else self.complete & (self.residual != 0)
        return np.asarray((self.residual < 0) | off)

    def examples(self, which: Bools, limit: int = 3, /) -> list[str]:
        """Some of these rows by name, those that are furthest off first."""
        rows = np.flatnonzero(which)
        rows = rows[np.argsort(-np.abs(self.residual[rows]), kind="stable")][:limit]
        titles = names(self.link.margin, self.rows[rows])
        return [
            f"{title}: {self.link.margin.name} says {self.residual[row] + self.link.parts[self.rows[row]]:g}, "
            f"{self._parts(int(self.rows[row]))}"
            for title, row in zip(titles, rows.tolist(), strict=True)
        ]

    def _parts(self, row: int, /) -> str:
        """What the base publishes of a row of the margin, in words."""
        shown, base = int(self.link.shown[row]), self.link.base.name
        if shown == 1:
            return f"the one cell published in {base} {self.link.parts[row]:g}"
        return f"the {shown:,} cells published in {base} add up to {self.link.parts[row]:g}"

    def identities(self) -> ResidualIdentities | None:
        """The rows from which noise can be recovered; None if there is none.

        Complete rows; where these are few, also rows with one or two members missing. Of cells that are
        sums of pieces, only complete rows whose members all hold all their pieces.
        """
        if self.link.unlisted or (self.pieces is not None and self.pieces.number is None):
            return None
        if self.pieces is not None:
            return self._summed(self.pieces)
        least = self._least_uncut()
        chosen = self._chosen(least)
        if not chosen.size:
            return None
        cuts = (max(least_published(self.link.base), least), least_published(self.link.margin))
        members, absent = self._members(chosen)
        totals = self.residual[chosen] + self.link.parts[self.rows[chosen]]
        return margin_identities(
            totals, members, absent=absent, cuts=cuts, tables=self.tables, most_missing=_MOST_MISSING
        )

    def _least_uncut(self) -> float:
        """The count from which no noise was cut off; minus infinity where nothing speaks for such a cut, or too few rows would be left.

        Where 0 is shown and nothing below it, noise that would make a count negative was cut off, or zeros have none. Rows of larger
        counts alone are not touched by it; that these were chosen for being large is a cut like any other.
        """
        values = self.link.base.values
        off = self.residual[self.complete] != 0
        if (
            np.isfinite(least_published(self.link.base))
            or not values.size
            or values.min() != 0
            or not off.any()
        ):
            return -np.inf
        share = np.abs(self.residual) / np.sqrt(self.link.members[self.rows] + 1.0)
        least = float(np.ceil(_ABOVE_ZERO * 1.5 * np.median(share[self.complete])))
        return least if int((self.complete & (self._smallest() >= least)).sum()) >= _ENOUGH else -np.inf

    def _chosen(self, least: float, /) -> Ints:
        """The rows that are used: complete ones of counts from `least` on, and short ones with few missing where those are few."""
        members = self.link.members[self.rows]
        usable, kinds = self.complete.copy(), _KINDS
        if np.isfinite(least):
            usable &= self._smallest() >= least
        elif int(usable.sum()) < _ENOUGH:
            usable |= (self.missing <= _MOST_MISSING) & (members <= _LONG)
        usable &= self.link.shown[self.rows] > 0
        if self.missing[usable].any():
            kinds = _KINDS_MISSING
        kind = members * (_MOST_MISSING + 1) + self.missing
        found, times = np.unique(kind[usable], return_counts=True)
        common = found[np.argsort(-times, kind="stable")[:kinds]]
        chosen = np.flatnonzero(usable & np.isin(kind, common))
        return _spread_out(chosen, int(members[chosen].max(initial=1)))

    @property
    def tables(self) -> tuple[str, str]:
        """Names of the base and the margin."""
        return self.link.base.name, self.link.margin.name

    def _summed(self, pieces: Pieces, /) -> ResidualIdentities | None:
        """Complete rows of ample cells, each with as many noises as it has pieces."""
        chosen = np.flatnonzero(self.complete & (self._smallest() >= pieces.least))
        if not chosen.size:
            return None
        members = self.link.members[self.rows[chosen]]
        noises = np.stack([members * (pieces.number or 1), np.ones(chosen.size, dtype=np.int64)], axis=1)
        size = self.residual[chosen] + self.link.parts[self.rows[chosen]]
        return residual_identities(self.residual[chosen], noises=noises, tables=self.tables, size=size)

    def _smallest(self) -> Floats:
        """The smallest published member of each row."""
        group = self.link.group_of(self.link.base.cells)
        smallest = np.full(self.link.margin.size, np.inf)
        np.minimum.at(smallest, group[group >= 0], self.link.base.values[group >= 0])
        return smallest[self.rows]

    def _members(self, chosen: Ints, /) -> tuple[Floats, Bools]:
        """The members of the chosen rows, one row each: published ones first, then suppressed ones."""
        group = self.link.group_of(self.link.base.cells)
        place = np.full(self.link.margin.size + 1, -1)
        place[self.rows[chosen]] = np.arange(chosen.size)
        row = place[group]
        mine = np.flatnonzero(row >= 0)
        mine = mine[np.argsort(row[mine], kind="stable")]
        shown = np.bincount(row[mine], minlength=chosen.size)
        column = np.arange(mine.size) - np.repeat(np.cumsum(shown) - shown, shown)
        size = self.link.members[self.rows[chosen]]
        members = np.full((chosen.size, int(size.max())), np.nan)
        members[row[mine], column] = self.link.base.values[mine]
        absent = np.arange(members.shape[1]) >= size[:, None]
        return members, absent


#: Values with more decimals than these are not rounded to them.
_MOST_DECIMALS = 6


def _last_decimal(values: Sequence[NDArray[np.generic]], /) -> float:
    """What the last decimal of all values stands for: 1 for whole numbers, 0.01 for two decimals."""
    every = np.concatenate([np.asarray(one, np.float64) for one in values])
    for decimals in range(_MOST_DECIMALS):
        shifted = every * 10.0**decimals
        if np.allclose(shifted, np.rint(shifted), rtol=1e-12, atol=1e-6):
            return float(10.0**-decimals)
    return float(10.0**-_MOST_DECIMALS)


def perturbed_apart(rows: MarginRows, /) -> bool | None:
    """Whether a margin has noise of its own: yes, no, or None if it cannot be told."""
    if not rows.rows.size or rows.link.unlisted:
        return None
    if rows.impossible.any():
        return True
    exact = rows.residual == 0
    enough = min(_FEWEST, rows.rows.size)
    if exact.all() or (rows.pieces is None and int(rows.complete.sum()) >= enough):
        return False
    return None


def _spread_out(chosen: Ints, members: int, /) -> Ints:
    """Not more rows than can be worked with, evenly taken."""
    most = max(min(_MOST_ROWS, _MOST_MEMBERS // max(members, 1)), 1)
    if chosen.size <= most:
        return chosen
    return chosen[np.linspace(0, chosen.size - 1, most).astype(np.int64)]
