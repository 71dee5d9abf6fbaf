"""Rows and trips that were dropped, and whether what is said about them can be true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisegate.assessment.claims import Judged
from noisegate.assessment.dropped import ASSUMES, Dropped
from noisegate.assessment.finding import Check, Finding, Result

_ADVICE = "State what was dropped as numbers of rows and of trips, with the rule behind them, so that a reader can check them."


def about_dropped(dropped: Dropped, /) -> list[Result]:
    """Rows that each table could have and does not, and the trips behind them."""
    found = dropped.to_json()
    whole = [one for one in found if one["mode"] is None]
    said = [_row(one) for one in found if one["mode"] is not None or one["trips"] is not None]
    if any(one["trips"] for one in found):
        said += [f"Assumed: {line}." for line in ASSUMES]
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
    more = " or more" if trips["margin_rows_suppressed"] else ""
    return f"{text}, with {trips['share']:.2%}{more} of the trips ({low:.2%} to {high:.2%}, by {trips['source']})."


def about_claims(judged: Sequence[Judged], /) -> list[Result]:
    """What was stated, beside the tables."""
    return [_claim(one) for one in judged]


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
