"""Why trips with a person behind them must not be published by such means."""

from __future__ import annotations

from noisegate.assessment.finding import Finding, Result
from noisegate.assessment.microdata import Microdata

_MANY = 0.5


def about_microdata(microdata: Microdata | None, /) -> list[Result]:
    """How few known points single a person out, if the raw data is given."""
    if microdata is None:
        return []
    finest = microdata.coarsenings[0]
    known = [one for one in finest.found if one.share is not None]
    if not known:
        return []
    most = known[-1]
    said = [
        f"{one.title}: "
        + ", ".join(
            f"{u.points} point{'s' if u.points > 1 else ''} {u.share:.1%} ({u.low:.1%} to {u.high:.1%})"
            for u in one.found
            if u.share is not None
        )
        + "."
        for one in microdata.coarsenings
    ]
    first = next((one for one in known if (one.share or 0) > _MANY), most)
    return [
        Finding(
            id="microdata",
            severity="low",
            title=(
                f"If trips were published, {first.share:.0%} of persons would be unique from {first.points} known "
                f"point{'s' if first.points > 1 else ''}"
            ),
            numbers=microdata.to_json(),
            evidence=said,
            advice="Do not publish trips or journeys with a person behind them, however coded; publish counts.",
        )
    ]
