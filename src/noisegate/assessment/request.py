"""What a person says beyond the tables, checked as far as it can be without them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Self, TypedDict, Unpack, get_args

from noisegate import limits
from noisegate.assessment.claims import Claim
from noisegate.assessment.growth import check_weeks
from noisegate.errors import SpecError
from noisegate.inference import Attacker
from noisegate.laws import Law
from noisegate.mechanisms import stated_noise
from noisegate.recovery import Statement, parse_lag
from noisegate.spec import ReleaseSpec, load_spec

AnyPath = str | os.PathLike[str]

#: By how many minutes cards may be read off a timetable, unless somebody says otherwise, and at most.
LATE_MIN, MOST_LATE_MIN = 20, 240


def check_late(late: int, /) -> None:
    """Refuse what is no number of minutes by which cards may be read off a timetable."""
    if isinstance(late, bool) or not isinstance(late, int) or not 0 <= late <= MOST_LATE_MIN:
        raise SpecError.for_value("--late", found=late, allowed=f"whole minutes from 0 to {MOST_LATE_MIN}")


class Said(TypedDict, total=False):
    """What a person may say beyond the tables, in the words of `noisegate.assess`, which explains each."""

    pairs: Sequence[tuple[str, str]]
    identities: Sequence[str]
    lag: str | int | timedelta | None
    summed_from: str | int | timedelta | None
    noise: str | None
    attacker: Attacker | None
    truth: AnyPath | None
    person: str | None
    workload: AnyPath | None
    gtfs: AnyPath | None
    late: int
    stops: AnyPath | None
    k: int
    claims: Sequence[str]
    weeks: int | None
    against: Sequence[AnyPath]
    areas: AnyPath | None
    movement: bool
    level: float


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
    against
        Other releases that may count the same people: files, or folders of releases.
    areas
        A lookup of small areas, where those releases are by other areas: a column named as each dimension.
    movement
        Whether people are to be followed through counts of who is where.
    """

    gtfs: Path | None = None
    late: int = LATE_MIN
    stops: Path | None = None
    k: int = 3
    claims: tuple[Claim, ...] = ()
    weeks: int | None = None
    against: tuple[Path, ...] = ()
    areas: Path | None = None
    movement: bool = False

    def __post_init__(self) -> None:
        check_late(self.late)
        most = limits.current().merged_vehicles
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= most:
            raise SpecError.for_value("--k", found=self.k, allowed=f"a whole number from 1 to {most}")
        if self.weeks is not None:
            check_weeks(self.weeks)
        if self.areas is not None and not self.against:
            raise SpecError(
                "--areas tells how the areas of two releases lie; name the other one with --against."
            )
        if self.stops is not None and self.gtfs is None:
            raise SpecError("--stops maps locations to the stops of a timetable; give one with --gtfs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person says beyond the tables, checked as far as it can be without them."""

    pairs: tuple[tuple[str, str], ...] = ()
    statements: tuple[Statement, ...] = ()
    lag: int = 0
    piece: int | None = None
    level: float = 0.95
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

    @classmethod
    def of(cls, **said: Unpack[Said]) -> Self:
        """What was said, read; whatever was not said stays as it is by default."""
        lag = said.get("lag")
        piece, noise, workload = said.get("summed_from"), said.get("noise"), said.get("workload")
        return cls(
            pairs=tuple((str(left), str(right)) for left, right in said.get("pairs", ())),
            statements=tuple(Statement.parse(text) for text in said.get("identities", ())),
            lag=0 if lag is None else parse_lag(lag),
            piece=None if piece is None else parse_lag(piece),
            level=said.get("level", 0.95),
            attacker=said.get("attacker", "informed"),
            noise=None if noise is None else stated_noise(noise),
            truth=_path(said.get("truth")),
            person=said.get("person"),
            workload=None if workload is None else load_spec(workload),
            outside=Outside(
                gtfs=_path(said.get("gtfs")),
                late=said.get("late", LATE_MIN),
                stops=_path(said.get("stops")),
                k=said.get("k", 3),
                claims=tuple(Claim.parse(text) for text in said.get("claims", ())),
                weeks=said.get("weeks"),
                against=tuple(Path(one) for one in said.get("against", ())),
                areas=_path(said.get("areas")),
                movement=said.get("movement", False),
            ),
        )


def _path(given: AnyPath | None, /) -> Path | None:
    return None if given is None else Path(given)
