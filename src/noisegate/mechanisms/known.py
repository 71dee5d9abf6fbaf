"""What is known of how a table was made: what its markers mean, and which mechanisms may have made it.

The one place that turns a card's statement, a person's word, recovered noise or another table's noise into a mechanism.
Where something is not known, such as whether empty cells get noise, there are rivals: estimates mix over them by their
probability, and a risk is that of the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws import LAWS, Law, PointMass, make_law
from noisegate.mechanisms.mechanism import Cut, Mechanism, Rounding, Rule, Zeros
from noisegate.mechanisms.opendp_noise import read_stated_noise

#: Why a cell shows a marker: for its own count, to protect another cell, or for a reason that nobody states.
Cause = Literal["primary", "secondary", "unknown"]
#: Who says how a table was made; `borrowed`: its noise is taken to be that of another table.
Authority = Literal["card", "person", "recovered", "borrowed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What stands in a cell in place of a count, such as `<18`, and the counts that it stands for.

    Attributes
    ----------
    low, high
        The least and the largest count that it can stand for; None if there is no largest one.
    cause
        Why it is there.
    evidence
        What tells the range, in words.
    """

    text: str
    low: int = 0
    high: int | None = None
    cause: Cause = "unknown"
    evidence: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.cause not in get_args(Cause):
            raise SpecError.for_choice("cause", found=self.cause, allowed=get_args(Cause))
        if self.low < 0 or (self.high is not None and self.high < self.low):
            raise SpecError.for_value(
                f"the range of marker {self.text!r}",
                found=(self.low, self.high),
                allowed="from a count of at least 0 to one that is no less",
            )

    def describe(self) -> str:
        """In words: what stands there, and for which counts."""
        shown = repr(self.text) if self.text else "a blank"
        if self.high is None:
            return f"{shown} hides any count" if self.low == 0 else f"{shown} hides {self.low} or more"
        return f"{shown} stands for {self.low}" + (f" to {self.high}" if self.high > self.low else "")

    def to_json(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "text": self.text,
            "low": self.low,
            "high": self.high,
            "cause": self.cause,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The mechanisms that may have made a table, each with its probability.

    Attributes
    ----------
    rivals
        Mechanisms and probabilities, the likeliest first; the probabilities add up to 1.
    source
        Who says so.
    assumes
        What had to be assumed, in words.
    """

    rivals: tuple[tuple[Mechanism, float], ...]
    source: Authority
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.source not in get_args(Authority):
            raise SpecError.for_choice("source", found=self.source, allowed=get_args(Authority))
        chances = [chance for _, chance in self.rivals]
        if not chances or min(chances) <= 0 or not math.isclose(sum(chances), 1.0, abs_tol=1e-9):
            raise SpecError.for_value(
                "the probabilities of rival mechanisms", found=chances, allowed="above 0, adding up to 1"
            )
        ranked = sorted(self.rivals, key=lambda rival: -rival[1])
        object.__setattr__(self, "rivals", tuple(ranked))

    @classmethod
    def sure(cls, mechanism: Mechanism, /, *, source: Authority, assumes: Sequence[str] = ()) -> Self:
        """That `mechanism` made the table, beyond doubt."""
        return cls(rivals=((mechanism, 1.0),), source=source, assumes=tuple(assumes))

    @property
    def mechanism(self) -> Mechanism:
        """The likeliest mechanism; the first one given, of several that are equally likely."""
        return self.rivals[0][0]

    @property
    def certain(self) -> bool:
        """Whether there is no rival."""
        return len(self.rivals) == 1

    @property
    def zeros(self) -> Zeros | None:
        """What happens to empty cells; None if rivals differ in it."""
        rules = {mechanism.zeros for mechanism, _ in self.rivals}
        return rules.pop() if len(rules) == 1 else None

    def mix(self, parts: Sequence[ArrayLike], /) -> Floats:
        """The mean over rivals of `parts`, one for each in order: means, probabilities, whole distributions."""
        return np.asarray(
            sum(chance * np.asarray(part, np.float64) for (_, chance), part in self._paired(parts))
        )

    def mix_moments(self, means: Sequence[ArrayLike], sds: Sequence[ArrayLike], /) -> tuple[Floats, Floats]:
        """Mean and standard deviation over rivals, of the means and standard deviations under each."""
        mean = self.mix(means)
        squares = [
            np.asarray(sd, np.float64) ** 2 + (np.asarray(one, np.float64) - mean) ** 2
            for one, sd in zip(means, sds, strict=True)
        ]
        return mean, np.sqrt(self.mix(squares))

    def worst(self, risk: Callable[[Mechanism], float], /) -> tuple[Mechanism, float]:
        """The rival under which `risk` is largest, and that risk."""
        return max(((one, float(risk(one))) for one, _ in self.rivals), key=lambda found: found[1])

    def raw_range(self, shown: ArrayLike, /) -> tuple[Ints, Ints]:
        """The raw counts that can lie behind each value under any rival; see `Mechanism.raw_range`."""
        ranges = [mechanism.raw_range(shown) for mechanism, _ in self.rivals]
        empty = [low > high for low, high in ranges]
        lows = [
            np.where(none, np.iinfo(np.int64).max, low) for none, (low, _) in zip(empty, ranges, strict=True)
        ]
        highs = [np.where(none, 0, high) for none, (_, high) in zip(empty, ranges, strict=True)]
        never = np.logical_and.reduce(empty)
        low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
        return np.where(never, 1, low), np.where(never, 0, high)

    def given(self, log_evidence: Sequence[float], /) -> Self:
        """The same rivals with the probabilities that they have in the light of their log-evidence, in order."""
        self._paired(log_evidence)
        logs = np.log([chance for _, chance in self.rivals]) + np.array(log_evidence, np.float64)
        if not np.isfinite(logs.max()):
            raise SpecError("none of the rival mechanisms can have made what is published.")
        weights = np.exp(logs - logs.max())
        chances = (weights / weights.sum()).tolist()
        kept = [(one, chance) for (one, _), chance in zip(self.rivals, chances, strict=True) if chance > 0]
        return replace(self, rivals=tuple(kept))

    def _paired(self, parts: Sequence[ArrayLike], /) -> list[tuple[tuple[Mechanism, float], ArrayLike]]:
        if len(parts) != len(self.rivals):
            raise SpecError.for_value("parts of rivals", found=len(parts), allowed=f"{len(self.rivals)}")
        return list(zip(self.rivals, parts, strict=True))


def known_mechanism(
    law: Law | str,
    /,
    *,
    scale: float | None = None,
    rounding: Rounding | None = None,
    threshold: float | None = None,
    rule: Rule = "ge",
    cut: Cut = "after",
    zeros: Zeros | None,
    kept: float = 0.5,
    source: Authority,
    assumes: Sequence[str] = (),
) -> Known:
    """What a table's noise, threshold and zero rule say about its making.

    Parameters
    ----------
    law
        The law, or its name and `scale`; `none` says that no noise was added.
    rounding
        None if nobody says: counts are whole, so real noise was rounded.
    zeros
        None if it is not known whether empty cells get noise: then there are two rivals.
    kept
        How likely it is that empty cells get none, before the tables are asked.

    Examples
    --------
    >>> known_mechanism("laplace", scale=1.4, threshold=18, zeros=None, source="card").zeros is None
    True
    """
    noise = law if isinstance(law, Law) else named_law(law, scale=scale)
    made = Mechanism(
        law=noise,
        rounding=rounding if rounding is not None else whole_rounding(noise),
        threshold=threshold,
        rule=rule,
        cut=cut,
        zeros=zeros or "perturb",
    )
    if zeros is not None:
        return Known.sure(made, source=source, assumes=assumes)
    if not 0 < kept < 1:
        raise SpecError.for_value("the chance that zeros are kept", found=kept, allowed="above 0 and below 1")
    rivals = ((made, 1 - kept), (replace(made, zeros="keep"), kept))
    return Known(rivals=rivals, source=source, assumes=tuple(assumes))


def named_law(name: str, /, *, scale: float | None = None) -> Law:
    """The law called `name`, `none` included; an error names the laws there are."""
    if name == PointMass.name:
        return PointMass()
    if name not in LAWS:
        raise SpecError.for_choice("law", found=name, allowed=(PointMass.name, *LAWS))
    if scale is None:
        raise SpecError(f"{name} noise needs a scale.")
    return make_law(name, scale=scale)


def whole_rounding(law: Law, /) -> Rounding:
    """How whole counts come about with noise of `law`: real noise is rounded."""
    return "none" if law.lattice else "nearest"


def parse_noise(text: str, /) -> Law:
    """The law that a person states as LAW:SCALE, such as `laplace:1.4`; `none` says that counts are published as they are."""
    name, _, scale = text.partition(":")
    if text.strip() == PointMass.name:
        return PointMass()
    try:
        width = float(scale)
    except ValueError:
        raise SpecError.for_value(
            "--noise", found=text, allowed="a law and its scale, such as laplace:1.4, or none"
        ) from None
    return make_law(name.strip(), scale=width)


def stated_noise(text: str, /) -> Law:
    """The law that a person states, as LAW:SCALE or as a file in which OpenDP states it."""
    path = Path(text)
    return read_stated_noise(path) if path.suffix.lower() in {".json", ".csv"} else parse_noise(text)


def state_noise(law: Law, /) -> str:
    """A law as a person states it: what `parse_noise` reads."""
    (scale,) = astuple(law)  # type: ignore[call-overload]  # every named law is a dataclass of its scale
    return law.name if isinstance(law, PointMass) else f"{law.name}:{scale:g}"
