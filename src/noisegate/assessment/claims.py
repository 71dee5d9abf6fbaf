"""Stated shares of what was dropped, and whether the tables bear them out.

    lightrail off dropped 0.0005%
    mode=lightrail,tap=off dropped 0.0005% of rows in loc

A share says how precise it is by its digits: 0.0005% means from 0.00045% to 0.00055%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from noisegate.assessment.dropped import Dropped, TripShare
from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.rows import RowCount
from noisegate.errors import SpecError
from noisegate.recovery import value_code
from noisegate.tables import Table, find_dimension, folded, listed, split_conditions

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Verdict = Literal["agrees", "wrong", "cannot tell"]

_FORM = re.compile(
    r"(?P<who>.*?)\s*\bdropped\s+(?P<share>\d{1,3}(?:\.\d{1,12})?)\s*%"
    r"(?:\s+of\s+(?P<of>rows|trips))?(?:\s+in\s+(?P<table>\S.*?))?\s*",
    re.IGNORECASE,
)
_ALLOWED = 'written like "lightrail off dropped 0.0005%", perhaps with "of rows" or "of trips" and "in TABLE"'

_ADVICE = "State what was dropped as numbers of rows and of trips, with the rule behind them, so that a reader can check them."

WORDS: Mapping[str, Words] = {
    "dropped-rows": Words(
        says="Rows and trips that are not published; a claim about them that is wrong is a finding.",
        meaning="Something that was stated about dropped rows cannot be right.",
        method=(
            "The public domain says how many rows are possible; those that are absent were dropped. The share of "
            "trips behind them follows from the linked totals. A stated share is checked by plain arithmetic: it "
            "must be a whole number of rows."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """What was stated about dropped rows, beside the tables."""
    return [_claim(one) for one in facts.claims]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A stated share of rows or trips that were dropped.

    Attributes
    ----------
    who
        The values it is about, as written; empty for all.
    share, half_digit
        The share, and half of its last digit, as fractions of one.
    of
        What it is a share of; None if it does not say.
    table
        The table it is about; None for every table that has the values.
    """

    text: str
    who: str
    share: Fraction
    half_digit: Fraction
    of: Literal["rows", "trips"] | None
    table: str | None

    @classmethod
    def parse(cls, text: str, /) -> Self:
        """The claim that `text` makes."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise SpecError.for_value("--claim", found=text, allowed=_ALLOWED)
        digits = len(found["share"].partition(".")[2])
        share = Fraction(found["share"]) / 100
        if share > 1:
            raise SpecError(f"--claim {text!r}: a share is at most 100%.")
        of = found["of"].lower() if found["of"] else None
        return cls(
            text=text.strip(),
            who=found["who"].strip(" ,"),
            share=share,
            half_digit=Fraction(1, 200 * 10**digits),
            of="rows" if of == "rows" else "trips" if of else None,
            table=found["table"],
        )

    def codes(self, cells: Table, /) -> dict[int, int] | None:
        """The values it is about, as codes of a table's dimensions; None if the table does not have them all."""
        if not self.who:
            return {}
        if "=" in self.who:
            return _named(self.who, cells)
        return _bare(self.who.replace(",", " ").split(), cells)


def _named(who: str, cells: Table, /) -> dict[int, int] | None:
    found = {}
    for name, value in split_conditions(who):
        try:
            place = find_dimension(name, [dimension.name for dimension in cells.dimensions])
        except SpecError:
            return None
        code = value_code(value, cells.dimensions[place])
        if code is None:
            return None
        found[place] = code
    return found


def _bare(words: list[str], cells: Table, /) -> dict[int, int] | None:
    """The values that words name, the longest first: "Central Station off"."""
    found: dict[int, int] = {}
    while words:
        for size in range(len(words), 0, -1):
            hit = _value(" ".join(words[:size]), cells, found)
            if hit is not None:
                found[hit[0]] = hit[1]
                words = words[size:]
                break
        else:
            return None
    return found


def _value(word: str, cells: Table, taken: dict[int, int], /) -> tuple[int, int] | None:
    """The dimension and code of a value; blanks inside words do not matter."""
    for place, dimension in enumerate(cells.dimensions):
        code = value_code(word, dimension)
        if code is None:
            joined = folded(word).replace(" ", "")
            same = [i for i, label in enumerate(dimension.labels) if folded(label).replace(" ", "") == joined]
            code = same[0] if same else None
        if code is not None and place not in taken:
            return place, code
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A claim beside one table: the arithmetic, and the verdict on each reading.

    `trips` is None where the tables do not tell how many trips were dropped.
    """

    claim: Claim
    rows: RowCount
    trips: TripShare | None
    of_rows: Verdict
    of_trips: Verdict

    @property
    def verdict(self) -> Verdict:
        """On the reading that was stated; on the kinder one if none was."""
        if self.claim.of == "rows":
            return self.of_rows
        if self.claim.of == "trips":
            return self.of_trips
        both = {self.of_rows, self.of_trips}
        return "agrees" if "agrees" in both else "cannot tell" if "cannot tell" in both else "wrong"

    @property
    def claimed_rows(self) -> float:
        """How many rows the claim comes to."""
        return float(self.claim.share * self.rows.possible)

    def arithmetic(self) -> list[str]:
        """The verdict step by step, in words."""
        rows, percent = self.rows, _percent(float(self.claim.share))
        said = [
            (
                f"{rows.table}: {rows.possible:,} rows are possible, {rows.published:,} are published, "
                f"{rows.suppressed:,} are not: {_percent(rows.share or 0.0)} of the rows."
            )
        ]
        whole = _whole_rows(self.claim, rows.possible)
        odd = "" if whole else ", which is no whole number of rows"
        least = f" The least share above 0 is one row: {_percent(1 / rows.possible)}." if not whole else ""
        said.append(f"{percent} of {rows.possible:,} rows is {self.claimed_rows:.6g} rows{odd}.{least}")
        if rows.suppressed == 0:
            said.append("No possible row is missing, so no trip can have been dropped.")
        elif self.trips is None:
            said.append("No other table tells how many trips the missing rows held.")
        else:
            low, high = self.trips.interval
            said.append(
                f"By {self.trips.source}, {self.trips.dropped:,.0f} of {self.trips.total:,.0f} trips are missing: "
                f"{_percent(self.trips.share)} ({self.trips.level:.0%}: {_percent(low)} to {_percent(high)})."
            )
        return said

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "claim": self.claim.text,
            "table": self.rows.table,
            "verdict": self.verdict,
            "of_rows": self.of_rows,
            "of_trips": self.of_trips,
            "claimed_share": float(self.claim.share),
            "claimed_rows": self.claimed_rows,
            "possible": self.rows.possible,
            "published": self.rows.published,
            "suppressed": self.rows.suppressed,
            "trips": None if self.trips is None else self.trips.to_json(),
            "arithmetic": self.arithmetic(),
        }


def judge_claim(claim: Claim, dropped: Dropped, /) -> list[Judged]:
    """A claim beside every table that it can be about.

    Raises
    ------
    SpecError
        If no table has the values, or the table named is not there.
    """
    tables = dropped.structure.tables
    if claim.table is not None:
        named = [cells for cells in tables if folded(cells.name) == folded(claim.table)]
        if not named:
            raise SpecError.for_choice(
                "--claim: the table", found=claim.table, allowed=[c.name for c in tables]
            )
        tables = tuple(named)
    found = []
    for cells in tables:
        codes = claim.codes(cells)
        if codes is None:
            continue
        rows = dropped.count(cells, codes)
        if rows.possible:
            found.append(_judge(claim, rows, dropped.trips(cells, codes) if rows.suppressed else None))
    if not found:
        values = [d.name for cells in tables for d in cells.dimensions]
        raise SpecError(
            f"--claim {claim.text!r}: no table has rows with the values {claim.who!r}; "
            f"the tables have {listed(list(dict.fromkeys(values)))}. Write them as dimension=value."
        )
    return found


def _judge(claim: Claim, rows: RowCount, trips: TripShare | None, /) -> Judged:
    true_rows = Fraction(rows.suppressed, rows.possible)
    of_rows: Verdict = "agrees" if abs(true_rows - claim.share) <= claim.half_digit else "wrong"
    low, high = float(claim.share - claim.half_digit), float(claim.share + claim.half_digit)
    if rows.suppressed == 0:
        of_trips: Verdict = "agrees" if low <= 0 else "wrong"
    elif trips is None:
        of_trips = "cannot tell"
    else:
        least, most = trips.interval
        # What suppressed rows of the margin hold comes on top: there may be more, never less.
        meets = least <= high and (low <= most or trips.rows_missing > 0)
        of_trips = "wrong" if not meets else "cannot tell" if trips.rows_missing else "agrees"
    return Judged(claim=claim, rows=rows, trips=trips, of_rows=of_rows, of_trips=of_trips)


def _whole_rows(claim: Claim, possible: int, /) -> bool:
    """Whether some whole number of rows has the stated share, up to its last digit."""
    low = (claim.share - claim.half_digit) * possible
    high = (claim.share + claim.half_digit) * possible
    return math.ceil(low) <= math.floor(high)


def _percent(share: float, /) -> str:
    """A share as a percentage with three digits."""
    if share == 0:
        return "0%"
    digits = max(0, 2 - math.floor(math.log10(100 * share)))
    return f"{100 * share:.{min(digits, 12)}f}%"


def _claim(one: Judged, /) -> Result:
    text = f'"{one.claim.text}", in {one.rows.table}'
    if one.verdict == "wrong":
        return Finding(
            id="dropped-rows",
            severity="low",
            title=f"A claim is wrong: {text}",
            numbers=one.to_json(),
            evidence=one.arithmetic(),
            advice=_ADVICE,
        )
    outcome, words = (
        ("fine", "agrees with the table") if one.verdict == "agrees" else ("cannot tell", "cannot be checked")
    )
    return Check(
        id="dropped-rows",
        outcome="fine" if outcome == "fine" else "cannot tell",
        title=f"the claim {text}, {words}",
        numbers=one.to_json(),
        evidence=one.arithmetic(),
    )


def show(assessment: Assessment, /) -> Exhibit:
    """What was claimed, and whether it can be."""
    rows = [
        (one.claim.text, one.rows.table, one.verdict, " ".join(one.arithmetic())) for one in assessment.claims
    ]
    grid = Grid.of("Claims about dropped rows", ("claim", "table", "verdict", "arithmetic"), rows)
    return Exhibit(section="dropped", grids=(grid,))
