"""The law of the error of any sum of published cells in which nothing is missing.

*derive*: a sum of as many independent noises of the base as there are base cells. *independent*: the same with the table's
own noise. *reconcile*: the error of the least-squares estimate, a fixed combination of the noises of all measured
tables; the same whichever table the sum is read from. All of it is public: it follows from the plan of a release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from noisegate.laws import LatticeLaw
from noisegate.margins.error import ErrorLaw, ErrorTerm
from noisegate.margins.pieces import AnyPiece, pieces
from noisegate.tables import Domain, Groups, Ints, Margin, Selection

Method = Literal["derive", "reconcile", "independent"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumErrors:
    """The tables of a release: `laws` holds the noise of each measured one, the base under its own name."""

    domain: Domain
    base: str
    margins: Mapping[str, Margin]
    laws: Mapping[str, LatticeLaw]
    method: Method
    parts: tuple[AnyPiece, ...]

    @classmethod
    def of(
        cls,
        domain: Domain,
        /,
        *,
        base: str,
        margins: Mapping[str, Margin],
        laws: Mapping[str, LatticeLaw],
        method: Method,
    ) -> SumErrors:
        """The errors of a release's sums; refuses margins that cannot be reconciled."""
        parts = pieces(domain, margins) if method == "reconcile" else ()
        return cls(domain=domain, base=base, margins=margins, laws=laws, method=method, parts=parts)

    def tables(self, selection: Selection, /) -> dict[str, Groups]:
        """The selected cells of every table that can answer."""
        domains = {self.base: self.domain, **{name: m.domain for name, m in self.margins.items()}}
        return {
            name: selection.groups(domain)
            for name, domain in domains.items()
            if selection.restricted <= set(domain.names)
        }

    def best_table(self, cells_of: Mapping[str, Groups], /) -> str:
        """The table whose sums have the least noise; where tables agree, the one with the fewest cells."""

        def noise(name: str) -> float:
            terms = cells_of[name].counts()
            mean = float(terms[terms > 0].mean()) if (terms > 0).any() else math.inf
            if self.method == "reconcile":
                return mean
            return mean * self.laws[name].variance if name in self.laws else math.inf

        return self.base if self.method == "derive" else min(cells_of, key=noise)

    def laws_of(self, cells: Groups, table: str, groups: Ints, /) -> list[ErrorLaw]:
        """The law of the error of each of these groups' sums, read from `table`."""
        if self.method != "reconcile":
            law, terms = self.laws[table if self.method == "independent" else self.base], cells.counts()
            made = {
                n: ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=n, law=law),))
                for n in set(terms[groups].tolist())
            }
            return [made[n] for n in terms[groups].tolist()]
        known: dict[bytes, ErrorLaw] = {}
        boxes = [piece.boxes(cells) for piece in self.parts]
        found = []
        for group in groups.tolist():
            own = [one[group] for one in boxes]
            key = b"".join(one.tobytes() for one in own)
            if key not in known:
                known[key] = self._of_boxes(own)
            found.append(known[key])
        return found

    def _of_boxes(self, boxes: Sequence[Ints], /) -> ErrorLaw:
        terms: list[ErrorTerm] = []
        names = {self.base: self.domain.names, **{name: m.domain.names for name, m in self.margins.items()}}
        for piece, taken in zip(self.parts, boxes, strict=True):
            box = piece.box(taken)
            if box is not None:
                design = piece.design({names[name]: law.variance for name, law in self.laws.items()})
                terms += ErrorLaw.of(design, tuple(self.laws.values()), box).terms
        return ErrorLaw(terms=tuple(terms))
