"""What is found out about tables before anything is judged: couplings, margins, noise, the zero rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noisegate.assessment.outside import Linked
from noisegate.assessment.request import Request
from noisegate.reading.structure import Structure
from noisegate.recovery.card import Card
from noisegate.recovery.couplings import Coupling, couple
from noisegate.recovery.identity_sets import IdentitySet, margin_set, pair_set, stated_sets
from noisegate.recovery.margin_rows import MarginRows, perturbed_apart
from noisegate.recovery.moments import Moments
from noisegate.recovery.noise import Noise
from noisegate.recovery.pieces import Pieces, find_pieces
from noisegate.recovery.recover import recover
from noisegate.recovery.search import Search, search
from noisegate.recovery.selection import FixedValues
from noisegate.recovery.zeros import ZeroRule, zero_rule
from noisegate.tables.table import Table

#: Called with a short description of what is being done.
Progress = Callable[[str], None]
#: So many couplings, those with the most evidence first, are enough to recover noise from.
_MOST_PAIR_SETS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """What was found out about the tables before anything is judged."""

    structure: Structure
    rows: tuple[MarginRows, ...]
    pieces: Pieces | None
    stated: tuple[Coupling, ...]
    search: Search
    noise: dict[str, Noise]
    zeros: ZeroRule
    card: Card | None
    linked: Linked

    @property
    def couplings(self) -> tuple[Coupling, ...]:
        """Couplings that hold: found, or stated and not refused."""
        refused = {one.title for noise in self.noise.values() for one, _ in noise.refused}
        found = _without(self.search.found, self.stated)
        return tuple(c for c in (*self.stated, *found) if c.title not in refused)


def find_facts(structure: Structure, request: Request, card: Card | None, report: Progress, /) -> Facts:
    """Everything that the tables tell, before it is judged."""
    base = structure.base
    pieces = find_pieces(base, told=request.piece)
    stated = _stated_couplings(structure, request)
    said = [one for statement in request.statements for one in stated_sets(statement, structure)]
    linked = Linked.of(request.outside, structure, report)
    report("looking for coupled series")
    found = linked.joined(search(base))
    add_up = card is not None and card.margins in ("derive", "reconcile")
    rows = tuple(MarginRows.of(link, pieces, stated=add_up) for link in structure.links)
    sets = [*said, *_pair_sets(stated, found, base, pieces), *_margin_sets(rows)]
    noise = recover(
        sets,
        [cells.name for cells in structure.tables],
        level=request.level,
        assumes=pieces.assumption if pieces is not None and pieces.number else "",
        report=report,
    )
    report("testing the zero rule")
    return Facts(
        structure=structure,
        rows=rows,
        pieces=pieces,
        stated=stated,
        search=found,
        noise=noise,
        zeros=zero_rule([one for one in rows if perturbed_apart(one)], noise[base.name].fit),
        card=card,
        linked=linked,
    )


def _stated_couplings(structure: Structure, request: Request, /) -> tuple[Coupling, ...]:
    """The stated pairs in the base, and in every margin that has their dimensions and can be shifted."""
    found = []
    for one, two in request.pairs:
        for cells in structure.tables:
            if cells is not structure.base and not _can_hold(cells, (one, two), request.lag):
                continue
            first, second = FixedValues.parse(one, cells), FixedValues.parse(two, cells)
            found.append(couple(cells, first, second, lag=request.lag, source="stated"))
    return tuple(found)


def _can_hold(cells: Table, pair: tuple[str, str], lag: int, /) -> bool:
    """Whether a margin can show a pair: it has the dimensions, and times if there is a lag."""
    moments = Moments.of(cells)
    if lag and (moments.time is None or not moments.step or lag % moments.step):
        return False
    try:
        sides = [FixedValues.parse(text, cells) for text in pair]
        couple(cells, sides[0], sides[1], lag=lag, source="stated")
    except ValueError:
        return False
    return True


def _pair_sets(
    stated: Sequence[Coupling], found: Search, base: Table, pieces: Pieces | None, /
) -> list[IdentitySet]:
    sets = [pair_set(coupling, pieces if coupling.cells is base else None) for coupling in stated]
    sets += [pair_set(one, pieces) for one in _without(found.found, stated)]
    return [one for one in sets if one is not None][: max(_MOST_PAIR_SETS, len(stated))]


def _without(found: Sequence[Coupling], stated: Sequence[Coupling], /) -> list[Coupling]:
    """The couplings that were found and that nobody stated."""
    known = {(c.cells.name, c.left.tobytes(), c.right.tobytes()) for c in stated}
    return [c for c in found if (c.cells.name, c.left.tobytes(), c.right.tobytes()) not in known]


def _margin_sets(rows: Sequence[MarginRows], /) -> list[IdentitySet]:
    """Identities with margins that have noise of their own; sums of the published base hold none."""
    sets = [margin_set(one) for one in rows if perturbed_apart(one)]
    return [one for one in sets if one is not None]
