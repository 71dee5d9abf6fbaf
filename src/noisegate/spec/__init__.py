"""The release spec: what a custodian writes down before anything is counted."""

from __future__ import annotations

from noisegate.spec.dimensions import DateDimension, ListedDimension, TimeDimension, ValueList
from noisegate.spec.document import load_spec, parse_spec
from noisegate.spec.fields import SpecBlock, clock, did_you_mean
from noisegate.spec.kinds import AnyDimension, BandDimension, CalendarDimension, LookupDimension
from noisegate.spec.model import Budget, DateOrder, Events, Merge, Publication, ReleaseSpec
from noisegate.spec.privacy import BoundChoice, ContributionBound, Law, Privacy, Suppress
from noisegate.spec.series import Series
from noisegate.spec.workload import QuestionBlock

__all__ = [
    "AnyDimension",
    "BandDimension",
    "BoundChoice",
    "Budget",
    "CalendarDimension",
    "ContributionBound",
    "DateDimension",
    "DateOrder",
    "Events",
    "Law",
    "ListedDimension",
    "LookupDimension",
    "Merge",
    "Privacy",
    "Publication",
    "QuestionBlock",
    "ReleaseSpec",
    "Series",
    "SpecBlock",
    "Suppress",
    "TimeDimension",
    "ValueList",
    "clock",
    "did_you_mean",
    "load_spec",
    "parse_spec",
]
