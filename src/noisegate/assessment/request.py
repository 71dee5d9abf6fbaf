"""What a person says beyond the tables, checked as far as it can be without them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from noisegate.assessment.attackers import Attacker
from noisegate.assessment.outside import Outside
from noisegate.errors import SpecError
from noisegate.recovery.makers import StatedNoise
from noisegate.recovery.selection import Statement
from noisegate.spec import ReleaseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person says beyond the tables, checked as far as it can be without them."""

    pairs: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    lag: int
    piece: int | None
    level: float
    attacker: Attacker | None = "informed"
    noise: StatedNoise | None = None
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
