"""The series block: one release for each week of a period, all of them on one budget."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from noisegate.spec.dimensions import DateDimension
from noisegate.spec.fields import AtLeastOne, SpecBlock, refusal
from noisegate.spec.kinds import DimensionSpec
from noisegate.spec.privacy import Privacy

DAYS = 7
#: As many weeks as a strategy is planned for.
MOST_WEEKS = 520


class Series(SpecBlock):
    """So many weeks, each with a release of its own; epsilon and delta of the privacy block are for all of them together."""

    weeks: AtLeastOne

    def dates(self, dimensions: Mapping[str, DimensionSpec], /) -> tuple[str, DateDimension]:
        """The dimension of dates that the weeks are cut from, and its name."""
        return next((name, one) for name, one in dimensions.items() if isinstance(one, DateDimension))

    def cut(self, dimensions: Mapping[str, DimensionSpec], week: int, /) -> dict[str, DimensionSpec]:
        """The dimensions of one week, counted from 1: the same with the dates of that week."""
        name, dates = self.dates(dimensions)
        first = dates.first + timedelta(days=DAYS * (week - 1))
        own = dates.model_copy(update={"first": first, "last": first + timedelta(days=DAYS - 1)})
        return {**dimensions, name: own}


def check_series(
    series: Series,
    /,
    *,
    dimensions: Mapping[str, DimensionSpec],
    tables: Mapping[str, tuple[str, ...]],
    privacy: Privacy,
) -> None:
    """Weeks have the same tables, fill the dates, and are measured with noise on every cell."""
    at = ("series", "weeks")
    if series.weeks > MOST_WEEKS:
        raise refusal(f"is {series.weeks}; at most {MOST_WEEKS} weeks are planned together", at=at)
    dates = [name for name, one in dimensions.items() if isinstance(one, DateDimension)]
    if len(dates) != 1:
        found = ", ".join(dates) or "none"
        raise refusal(f"needs exactly one dimension of dates to cut weeks from, found {found}", at=["series"])
    days = next(one.days for one in dimensions.values() if isinstance(one, DateDimension))
    if days != DAYS * series.weeks:
        raise refusal(
            f"is {series.weeks}, but {dates[0]} has {days} days from its first to its last; give dates of {DAYS * series.weeks} days",
            at=at,
        )
    for table, names in tables.items():
        if dates[0] in names:
            raise refusal(
                f"has the dimension {dates[0]}, which the weeks of a series are cut from; leave it out, or count by weekday (each: weekday)",
                at=("tables", table),
            )
    wrong = {
        "scale": privacy.scale is not None
        and "fixes the noise of each table, but a series divides epsilon over its weeks; give epsilon",
        "zeros": privacy.zeros == "keep"
        and "is 'keep', but sums of weeks need noise in every cell; use perturb",
        "margins": privacy.margins == "independent"
        and "is 'independent', which a series does not have; use reconcile or derive",
        "choose_bound": privacy.choose_bound is not None
        and "chooses a bound for one release, but a series needs one for all weeks; state max_cells",
        "report_clipped": privacy.report_clipped is not None
        and "is told for one release and would be charged in every week; leave it out of a series",
    }
    for name, phrase in wrong.items():
        if phrase:
            raise refusal(phrase, at=("privacy", name))
    if privacy.law not in ("discrete-laplace", "discrete-gaussian"):
        raise refusal(
            f"is {privacy.law}; a series has discrete-laplace or discrete-gaussian noise",
            at=("privacy", "law"),
        )
