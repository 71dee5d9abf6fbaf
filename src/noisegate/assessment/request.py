"""What a person says beyond the tables, checked as far as it can be without them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from noisegate import limits
from noisegate.assessment.claims import Claim
from noisegate.assessment.growth import check_weeks
from noisegate.assessment.inference import Attacker
from noisegate.assessment.services import LATE_MIN, tolerance_of
from noisegate.errors import SpecError
from noisegate.laws import Law
from noisegate.recovery import Statement
from noisegate.spec import ReleaseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What a person says from outside the tables, checked as far as it can be without them.

    Attributes
    ----------
    gtfs, late, stops
        A timetable, by how many minutes cards may be read off it, and a map of locations to its stops.
    k
        How many vehicles every cell should mix.
    claims
        Shares of rows or trips that were stated to be dropped.
    weeks
        How many weeks of such releases to look ahead; None for none.
    """

    gtfs: Path | None = None
    late: int = LATE_MIN
    stops: Path | None = None
    k: int = 3
    claims: tuple[Claim, ...] = ()
    weeks: int | None = None

    def __post_init__(self) -> None:
        tolerance_of(self.late)
        most = limits.current().merged_vehicles
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= most:
            raise SpecError.for_value("--k", found=self.k, allowed=f"a whole number from 1 to {most}")
        if self.weeks is not None:
            check_weeks(self.weeks)
        if self.stops is not None and self.gtfs is None:
            raise SpecError("--stops maps locations to the stops of a timetable; give one with --gtfs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person says beyond the tables, checked as far as it can be without them."""

    pairs: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    lag: int
    piece: int | None
    level: float
    attacker: Attacker | None = "informed"
    noise: Law | None = None
    truth: Path | None = None
    person: str | None = None
    workload: ReleaseSpec | None = None
    outside: Outside = field(default_factory=Outside)

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise SpecError.for_value("--level", found=self.level, allowed="between 0 and 1")
        if self.lag and not self.pairs:
            raise SpecError(
                "--lag says how far apart the two sides of a --pair are; give a --pair, or leave it out."
            )
        if self.attacker is not None and self.attacker not in get_args(Attacker):
            raise SpecError.for_choice(
                "--attacker", found=self.attacker, allowed=(*get_args(Attacker), "none")
            )
