"""Which tables of two releases are compared for slivers, and with what noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from noisegate.assessment.differencing import DifferenceNoise, Slivers, find_slivers_between
from noisegate.assessment.matched_areas import read_areas
from noisegate.laws import Gaussian, LatticeLaw, Law, make_law
from noisegate.reading import Structure
from noisegate.tables import Card, Table, folded

#: Pairs of tables that are compared at most.
_MOST_PAIRS = 60


def compare_releases(
    own: Structure,
    others: Sequence[Structure],
    /,
    *,
    card: Card | None,
    noise: Law | None,
    level: float,
    areas: Path | None = None,
) -> tuple[Slivers, ...]:
    """The slivers between tables of the same dimensions: inside these, and between these and each of `others`.

    Tables of one set of files are only told of where they do count the same people but for a few: nobody said that they do.
    """
    found = []
    for first, second in _inside(own):
        pair = find_slivers_between(
            first, second, spread=_spread(first, second, card, card, noise), level=level
        )
        found += [pair] if pair.verdict == "slivers" else []
    for other in others:
        for first, second in _across(own, other):
            found.append(
                compare_pair(own, first, other, second, noise=noise, level=level, same=False, card=card)
            )
        if areas is not None:
            found.append(
                compare_pair(
                    own,
                    own.base,
                    other,
                    other.base,
                    noise=noise,
                    level=level,
                    same=False,
                    card=card,
                    areas=areas,
                )
            )
    return tuple(found[:_MOST_PAIRS])


def compare_pair(
    own: Structure,
    first: Table,
    other: Structure,
    second: Table,
    /,
    *,
    noise: Law | None,
    level: float,
    same: bool,
    card: Card | None = None,
    areas: Path | None = None,
) -> Slivers:
    """The slivers between a table and one of another release, each with the noise that its card states.

    `areas` is a lookup of small areas, for tables by other areas.
    """
    mine = own.release.card if card is None else card
    spread = _spread(first, second, mine, other.release.card, noise)
    small = None if areas is None else read_areas(areas, first, second)
    found = find_slivers_between(first, second, spread=spread, level=level, same=same, areas=small)
    if first.name != second.name:
        return found
    return replace(found, first=_named(own, first, "first"), second=_named(other, second, "second"))


def _named(release: Structure, table: Table, place: str, /) -> str:
    """A table of a name that another one has too: with the folder or file that it was read from."""
    files = [file for one in release.sources if one.name == table.name for file in one.files]
    if not files:
        return f"{table.name} ({place})"
    return f"{table.name} ({files[0].parent.name if files[0].stem == table.name else files[0].name})"


def _names(table: Table, /) -> frozenset[str]:
    return frozenset(folded(one.name) for one in table.dimensions)


def _inside(own: Structure, /) -> Iterator[tuple[Table, Table]]:
    """The base beside tables of the same dimensions, among its margins and among those of the same measure beside it."""
    others = [*own.tables[1:], *(one.base for one in own.beside if one.measure == own.measure)]
    for other in others:
        if _names(other) == _names(own.base):
            yield own.base, other


def _across(own: Structure, other: Structure, /) -> Iterator[tuple[Table, Table]]:
    """For each table here the one of the same dimensions there; of several, the one of its name."""
    for first in own.tables:
        alike = [one for one in other.tables if _names(one) == _names(first)]
        named = [one for one in alike if one.name == first.name]
        if alike:
            yield first, (named or alike)[0]


def _spread(
    first: Table, second: Table, card: Card | None, other: Card | None, noise: Law | None, /
) -> DifferenceNoise | None:
    """The noise of a difference, as somebody or both cards state it; None if nobody does."""
    if noise is not None:
        return _of(noise)
    laws = [_stated(table, said) for table, said in ((first, card), (second, other))]
    known = [law for law in laws if law is not None]
    if not known:
        return None
    # Of two laws the wider one is taken for both: a sliver is then never said too soon.
    return _of(max(known, key=lambda law: law.variance))


def _stated(table: Table, card: Card | None, /) -> Law | None:
    said = None if card is None else card.about(table)
    if said is None:
        return None
    if said.noise is not None:
        return make_law(said.noise.law, scale=float(said.noise.scale))
    return None if said.error is None else Gaussian(max(float(said.error.standard_deviation), 0.1))


def _of(law: Law, /) -> DifferenceNoise | None:
    if not law.variance:
        return DifferenceNoise()
    if (
        isinstance(law, LatticeLaw)
        and math.isinf(law.loss_bound(1))
        and law.logsf(law.reach(40.0)) == -math.inf
    ):
        return DifferenceNoise(within=2 * law.reach(40.0))
    return DifferenceNoise(law=law.difference())
