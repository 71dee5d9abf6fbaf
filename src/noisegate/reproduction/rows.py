"""Section 5: counting the removed rows."""

from __future__ import annotations

from noisegate.reproduction.item import Item, judged

STOPS, UNKNOWN, DAYS = 23, 1, 14
CLAIMED_SHARE = 0.0005 / 100


def row_items() -> list[Item]:
    """The light-rail rows and the claimed share of dropped trips."""
    possible = (STOPS + STOPS + UNKNOWN) * DAYS
    share = CLAIMED_SHARE * possible
    return [
        Item(
            id="light-rail-rows",
            where="Section 5",
            claim="23 tap-on and 24 tap-off places over 14 days: the most light-rail rows possible",
            printed=658,
            formula=possible,
            exact=possible,
            verdict="agrees" if possible == 658 else "wrong",
            note="Rows of the location table: places, the unknown tap-off, and days.",
        ),
        Item(
            id="light-rail-share",
            where="Section 5",
            claim="0.0005 % of the rows",
            printed=0.00329,
            formula=share,
            exact=share,
            verdict=judged(share, "0.00329"),
            note="Not a whole number of rows.",
        ),
        Item(
            id="light-rail-dropped",
            where="Section 5",
            claim="All 658 rows are in the data, so the dropped share should be 0",
            printed=0,
            formula=None,
            exact=possible - 658,
            verdict="agrees",
            note=(
                "For rows. Data61 spoke of trips: a share of trips need not be a whole number of rows, but with no row missing "
                "it is 0 as well. One row of 658 would be 0.15 %, 300 times the claim."
            ),
        ),
    ]
