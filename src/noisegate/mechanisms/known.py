"""What is known of how a table was made: the mechanisms that may have made it, and what its markers mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

from noisegate.errors import InternalError
from noisegate.mechanisms.mechanism import Mechanism

#: Who says so: the card, a person, the tables themselves, or another table of the same release.
Source = Literal["card", "person", "recovered", "borrowed"]
#: Why a count is hidden: it is small, it would give another one away, or nobody says.
Cause = Literal["primary", "secondary", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What stands in place of a published count, and the range of what would have been published.

    `text` is empty where there is no row at all; `low` and `high` are None where nothing is said.
    """

    text: str = ""
    low: int | None = None
    high: int | None = None
    cause: Cause = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The mechanisms that may have made a table, each with its probability.

    Whether empty cells get noise may not be known: that is two rivals. Estimates mix them, risks take the worse.

    Attributes
    ----------
    rivals
        Mechanisms and their probabilities, the likeliest first.
    source
        Who says so.
    assumes
        What it rests on, in sentences.
    """

    rivals: tuple[tuple[Mechanism, float], ...]
    source: Source
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.rivals or not math.isclose(sum(share for _, share in self.rivals), 1.0):
            raise InternalError("the probabilities of rival mechanisms must add up to one")

    @classmethod
    def certain(cls, mechanism: Mechanism, /, *, source: Source, assumes: tuple[str, ...] = ()) -> Self:
        """One mechanism without a rival."""
        return cls(rivals=((mechanism, 1.0),), source=source, assumes=assumes)

    @property
    def mechanism(self) -> Mechanism:
        """The likeliest of the rivals."""
        return self.rivals[0][0]
