"""One published count: what a mechanism promises, and what it gives away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noisegate.laws import make_law
from noisegate.mechanisms import Mechanism, statement


@dataclass(frozen=True, kw_only=True, eq=False)
class MechanismFacts:
    """Everything that is exact about a mechanism: guarantee, delta, privacy curve, detection."""

    mechanism: Mechanism
    prior: float = 0.5
    events: tuple[int, ...] = ()
    others: int | None = None

    @cached_property
    def content(self) -> dict[str, Any]:
        """The facts as plain data, as `noisegate mechanism --json` writes them."""
        return statement(self.mechanism, prior=self.prior, events=self.events, others=self.others)

    @property
    def pure(self) -> bool:
        """Whether some epsilon makes delta zero."""
        return bool(self.content["pure"])

    @property
    def epsilon(self) -> float | None:
        """The epsilon of the pure guarantee; None if there is none."""
        found: float | None = self.content["epsilon"]
        return found

    @property
    def delta(self) -> float:
        """Exact, at epsilon = 1/scale, for one event added or removed."""
        return float(self.content["delta"])

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.content["verdict"])

    @property
    def detection(self) -> dict[int, float]:
        """For groups of several sizes, the probability that a published value proves them present."""
        return {row["group"]: row["probability"] for row in self.content["detection"]}

    @property
    def certainty(self) -> dict[int, float]:
        """For numbers of known events, how often the best test of whether a person is in the data is right; guessing: 0.5.

        Each event is in a cell of its own; `content["certainty"]` has both bounds, and events that fall into the same cell.
        """
        return {row["events"]: row["high"] for row in self.content["certainty"] or ()}

    def plot(self) -> Any:
        """The responses and the privacy curve as an Altair chart."""
        from noisegate.pictures import mechanism_picture

        return mechanism_picture(self.mechanism)

    def __repr__(self) -> str:
        groups = ", ".join(f"{group}: {value:.3g}" for group, value in self.detection.items())
        return "\n".join(
            [
                self.verdict,
                f"exact delta at epsilon = {self.content['delta_at_epsilon']:.4g}: {self.delta:.4g}",
                f"a group in an otherwise empty cell is shown for certain with probability: {groups}",
            ]
        )


def mechanism(
    *,
    law: str = "laplace",
    scale: float,
    threshold: float | None = None,
    rule: str = "gt",
    rounding: str = "none",
    cut: str = "after",
    zeros: str = "keep",
    prior: float = 0.5,
    events: Sequence[int] = (),
    others: int | None = None,
) -> MechanismFacts:
    """Exact detection probabilities, privacy curve and verdict of one mechanism.

    Parameters
    ----------
    law, scale
        The noise.
    threshold, rule
        The least count that is shown: above it (`gt`) or at it (`ge`); None shows all.
    rounding, cut
        `none` or `nearest`; whether the threshold looks at the value `before` or `after` rounding.
    zeros
        `keep`: a raw 0 stays 0, as in 2016; `perturb`: it gets noise like any count; `show`: it stays 0 and is shown whatever the threshold.
    prior, events, others
        For an attacker's certainty: how likely it is beforehand that the person is in, further numbers of known events, and the people
        beside the person in each cell (None: the worst case).

    Examples
    --------
    >>> import noisegate
    >>> noisegate.mechanism(scale=1.4, threshold=18).pure
    False
    >>> noisegate.mechanism(scale=1.4, threshold=18, zeros="perturb").delta
    0.0
    >>> flows = noisegate.mechanism(scale=1 / 0.66, zeros="perturb", events=[32])
    >>> f"{flows.certainty[32]:.1%}"
    '95.5%'
    """
    words: dict[str, Any] = {"rule": rule, "rounding": rounding, "cut": cut, "zeros": zeros}
    made = Mechanism(law=make_law(law, scale=scale), threshold=threshold, **words)
    return MechanismFacts(mechanism=made, prior=prior, events=tuple(events), others=others)
