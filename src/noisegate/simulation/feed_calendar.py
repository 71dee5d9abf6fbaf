"""The service days of a GTFS feed."""

from __future__ import annotations

from datetime import date, datetime

from noisegate.errors import DataError
from noisegate.simulation.feed_tables import Feed
from noisegate.simulation.network import Service

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def read_services(feed: Feed, /) -> tuple[Service, ...]:
    """All services of calendar and calendar_dates; either file may be missing, not both."""
    weekly = feed.table("calendar.txt", required=("service_id", *_WEEKDAYS, "start_date", "end_date"))
    dated = feed.table("calendar_dates.txt", required=("service_id", "date", "exception_type"))
    if weekly is None and dated is None:
        raise DataError(f"The feed {str(feed.path)!r} has neither calendar.txt nor calendar_dates.txt.")
    added: dict[str, set[date]] = {}
    removed: dict[str, set[date]] = {}
    if dated is not None:
        days = dated["date"].parsed(_ordinal, allowed="a date like 20160725")
        kinds = dated["exception_type"].texts()
        for service, day, kind in zip(dated["service_id"].texts(), days, kinds, strict=True):
            (added if kind == "1" else removed).setdefault(service, set()).add(date.fromordinal(day))
    services = {}
    if weekly is not None:
        flags = zip(*(weekly[day].texts() for day in _WEEKDAYS), strict=True)
        first = weekly["start_date"].parsed(_ordinal, allowed="a date like 20160725")
        last = weekly["end_date"].parsed(_ordinal, allowed="a date like 20160725")
        for name, runs, opens, closes in zip(weekly["service_id"].texts(), flags, first, last, strict=True):
            services[name] = (
                tuple(flag == "1" for flag in runs),
                date.fromordinal(opens),
                date.fromordinal(closes),
            )
    for name in (name for name in added if name not in services):
        services[name] = ((False,) * 7, min(added[name]), max(added[name]))
    return tuple(
        Service(
            id=name,
            weekdays=weekdays,
            first=opens,
            last=closes,
            added=frozenset(added.get(name, ())),
            removed=frozenset(removed.get(name, ())),
        )
        for name, (weekdays, opens, closes) in services.items()
    )


def _ordinal(text: str) -> int:
    """The day number of YYYYMMDD."""
    return datetime.strptime(text, "%Y%m%d").toordinal()  # noqa: DTZ007 - a date has no time zone
