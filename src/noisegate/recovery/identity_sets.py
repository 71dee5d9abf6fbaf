"""Sets of identities that serve to recover noise, and where each comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats
from noisegate.reading import Structure
from noisegate.recovery.couplings import (
    Coupling,
    Statement,
    find_value,
    least_published,
    not_stated,
    published,
    value_code,
)
from noisegate.recovery.equality import compare
from noisegate.recovery.families import Family
from noisegate.recovery.identities import (
    ResidualIdentities,
    margin_identities,
    pair_identities,
    residual_identities,
)
from noisegate.recovery.margin_rows import MarginRows, Pieces
from noisegate.tables import Table

Kind = Literal["pair", "identity", "margin"]

#: Differences within this factor of those of two Poisson counts are taken for such.
_ALIKE = 0.75
#: So many couplings are enough to recover noise from.
_MOST_PAIR_SETS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdentitySet:
    """ResidualIdentities of one origin.

    Attributes
    ----------
    kind, stated
        What they are, and whether a person stated them.
    title
        In words.
    identities
        For the fit; `identities.tables` names the tables whose noise they hold.
    doubt
        Why they cannot be what they are said to be; empty if nothing speaks against it.
    dimension
        Of a stated identity: whose values add up.
    assumes
        What they rest on, in words; empty if on nothing.
    """

    kind: Kind
    stated: bool
    title: str
    identities: ResidualIdentities
    doubt: str = ""
    dimension: str = ""
    assumes: str = ""

    @property
    def inside(self) -> str | None:
        """The one table that they are about; None if two."""
        first, second = self.identities.tables
        return first if first == second else None

    def beside_exact(self, table: str, /) -> IdentitySet:
        """The same where totals are those of a table without noise: only the noise of their parts is left in them."""
        first, _ = self.identities.tables
        noises = np.stack([self.identities.noises[:, 0], np.zeros_like(self.identities.noises[:, 0])], axis=1)
        found = replace(self.identities, tables=(first, first), noises=noises)
        return replace(self, identities=found, assumes=f"{table} has no noise of its own")

    def some(self, limit: int, /) -> IdentitySet:
        """At most `limit` of the identities of which no member is missing, evenly taken: quick to fit."""
        whole = np.flatnonzero(self.identities.missing == 0)
        if whole.size > limit:
            whole = whole[np.linspace(0, whole.size - 1, limit).astype(np.int64)]
        return replace(self, identities=self.identities.take(whole))

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "kind": self.kind,
            "stated": self.stated,
            "title": self.title,
            "n": len(self.identities),
            "incomplete": int((self.identities.missing > 0).sum()),
        }


def pair_set(coupling: Coupling, pieces: Pieces | None = None, /) -> IdentitySet | None:
    """The pairs of a coupling of which both counts are published; None if there is none."""
    first, second = coupling.values[:, coupling.both]
    tables = (coupling.cells.name, coupling.cells.name)
    if pieces is not None:
        ample = np.minimum(first, second) >= pieces.least
        if pieces.number is None or not ample.any():
            return None
        found = residual_identities(
            (second - first)[ample], noises=(pieces.number, pieces.number), tables=tables, size=first[ample]
        )
    elif not first.size:
        return None
    else:
        cut = least_published(coupling.cells)
        found = pair_identities(first, second, cuts=(cut, cut), tables=tables)
    return IdentitySet(
        kind="pair",
        stated=coupling.source == "stated",
        title=coupling.title,
        identities=found,
        doubt=_doubt(first, second, cut=least_published(coupling.cells)) if pieces is None else "",
    )


def _doubt(first: Floats, second: Floats, /, *, cut: float) -> str:
    """Why two series cannot be one count with two noises: they differ just as two different counts do."""
    found = compare(first, second, cut=cut)
    apart = found.spread / max(found.poisson_spread, 1e-12)
    if found.log_evidence >= 0 or not _ALIKE <= apart <= 1 / _ALIKE:
        return ""
    return (
        "these do not look like equal counts: they differ as two different counts of that size do "
        f"(by {found.spread:.1f} on average, chance alone makes {found.poisson_spread:.1f})."
    )


def margin_set(rows: MarginRows, /) -> IdentitySet | None:
    """Totals of a margin and the base cells that add up to them; None if no row allows it."""
    found = rows.identities()
    if found is None or not len(found):
        return None
    missing = int((found.missing > 0).sum())
    if rows.pieces is not None:
        title = (
            f"{len(found):,} of the {int(rows.complete.sum()):,} rows of {rows.link.margin.name} with every cell of "
            f"{rows.link.base.name} published: those with counts so large that no piece of a cell can be missing"
        )
        return IdentitySet(kind="margin", stated=False, title=title, identities=found)
    rest = f" and {missing:,} with one or two suppressed" if missing else ""
    return IdentitySet(
        kind="margin",
        stated=False,
        title=(
            f"{len(found) - missing:,} rows of {rows.link.margin.name} with every cell of {rows.link.base.name} "
            f"published{rest}"
        ),
        identities=found,
    )


def family_set(family: Family, /) -> IdentitySet | None:
    """Totals of margins and the cells of a finer margin that add up to them, as identities of the finer one; None if cells are hidden.

    What they leave holds many noises of the finer table and one of the coarser, which is taken to have the same scale.
    """
    tables = (family.parts, family.total)
    if family.open or family.standing != "noisy" or any(one.published < one.size for one in tables):
        return None
    name = family.parts.name
    found = residual_identities(
        family.residual,
        noises=np.stack([family.members, np.ones_like(family.members)], axis=1),
        tables=(name, name),
        size=family.size,
    )
    return IdentitySet(
        kind="margin",
        stated=False,
        title=f"{family.n:,} rows of {family.total.name} with every cell of {name} published",
        identities=found,
        assumes=f"the noise has the same scale in {' and '.join(sorted(one.name for one in tables))}",
    )


def stated_sets(statement: Statement, structure: Structure, /) -> list[IdentitySet]:
    """A stated identity in every table that has all its values; empty if a margin says the same already.

    Raises
    ------
    SpecError
        If no dimension has all the values.
    DataError
        If no combination is published whole.
    """
    holders = [
        (cells, place)
        for cells in structure.tables
        for place, dimension in enumerate(cells.dimensions)
        if all(value_code(value, dimension) is not None for value in (*statement.parts, statement.whole))
    ]
    if not holders and not _is_a_margin(statement, structure):
        raise _unknown_value(statement, structure.base)
    sets = [one for cells, place in holders for one in [_stated_set(statement, cells, place)] if one]
    if holders and not sets:
        raise DataError(
            f"--identity {statement.text!r}: no combination has all of these published; nothing can be compared."
        )
    return sets


def _unknown_value(statement: Statement, base: Table, /) -> SpecError:
    values = (*statement.parts, statement.whole)
    known = {v: [d.name for d in base.dimensions if value_code(v, d) is not None] for v in values}
    missing = next((v for v, places in known.items() if not places), None)
    names = ", ".join(dimension.name for dimension in base.dimensions)
    if missing is not None:
        return SpecError(
            f"--identity {statement.text!r}: no dimension of {base.name} ({names}) has a value {missing!r}."
        )
    return SpecError(f"--identity {statement.text!r}: these are not values of one dimension of {base.name}.")


def _is_a_margin(statement: Statement, structure: Structure, /) -> bool:
    """Whether the parts are all values of a dimension that some margin sums over alone."""
    for dimension in structure.base.dimensions:
        known = {code for code, gone in enumerate(dimension.unknown.tolist()) if not gone}
        parts = {value_code(value, dimension) for value in statement.parts}
        if parts == known and any(link.summed == (dimension.name,) for link in structure.links):
            return True
    return False


def _stated_set(statement: Statement, cells: Table, place: int, /) -> IdentitySet | None:
    dimension = cells.dimensions[place]
    codes = cells.codes(cells.cells)
    whole = codes[:, codes[place] == find_value(statement.whole, dimension)]
    members = np.full((whole.shape[1], len(statement.parts)), np.nan)
    for column, value in enumerate(statement.parts):
        moved = whole.copy()
        moved[place] = find_value(value, dimension)
        flat = cells.locate(moved)
        members[:, column] = np.where(flat >= 0, published(cells, np.maximum(flat, 0)), np.nan)
    totals, cut = published(cells, cells.locate(whole)), least_published(cells)
    tables = (cells.name, cells.name)
    if len(statement.parts) == 1:
        both = ~np.isnan(members[:, 0])
        found = pair_identities(members[both, 0], totals[both], cuts=(cut, cut), tables=tables)
    elif np.isfinite(cut) or not np.isnan(members).any():
        found = margin_identities(totals, members, cuts=(cut, cut), tables=tables)
    else:
        whole_rows = ~np.isnan(members).any(axis=1)
        found = margin_identities(totals[whole_rows], members[whole_rows], cuts=(cut, cut), tables=tables)
    if not len(found):
        return None
    title = f"{statement.text}, values of {dimension.name}"
    return IdentitySet(kind="identity", stated=True, title=title, identities=found, dimension=dimension.name)


def pair_sets(
    stated: Sequence[Coupling], found: Sequence[Coupling], base: Table, pieces: Pieces | None, /
) -> list[IdentitySet]:
    """Pairs of equal counts, those that a person stated first; of those that were found the ones with the most evidence."""
    sets = chain(
        (pair_set(coupling, pieces if coupling.cells is base else None) for coupling in stated),
        (pair_set(one, pieces) for one in not_stated(found, stated)),
    )
    return list(islice((one for one in sets if one is not None), max(_MOST_PAIR_SETS, len(stated))))
