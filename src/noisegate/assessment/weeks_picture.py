"""The picture of more weeks from what was found out about them."""

from __future__ import annotations

import math

from noisegate.assessment.weeks import Weeks
from noisegate.pictures.canvas import Picture
from noisegate.pictures.weeks import weeks_picture

#: The traveller whose loss is drawn: the commuter.
_COMMUTER = 1


def picture_of(weeks: Weeks, /) -> Picture:
    """Being seen every workday, the width of a recurring count, and the loss of a commuter, week by week."""
    numbers = range(1, weeks.horizon + 1)
    often = max(one.per_week for one in weeks.recurring)
    seen = {
        ("one person" if one.group == 1 else f"group of {one.group}"): list(
            zip(numbers, one.by_week(weeks.horizon), strict=True)
        )
        for one in weeks.recurring
        if one.per_week == often
    }
    width = [] if weeks.width is None else list(zip(numbers, weeks.width.expected.tolist(), strict=True))
    loss = {}
    at = weeks.growth[_COMMUTER].at if len(weeks.growth) > _COMMUTER else ()
    if at and math.isfinite(at[-1].linear):
        loss = {
            "worst case": [(one.weeks, one.linear) for one in at],
            "composed": [(one.weeks, one.tight) for one in at],
        }
    return weeks_picture(
        seen=seen,
        width=width,
        loss=loss,
        title=f"The same release for {weeks.horizon} weeks",
        subtitle="Groups come every workday; the count recurs once a week; a commuter makes 20 events a week.",
    )
