"""The zero rule: empty cells get noise like any other, or stay empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from noisegate.assess.card import Card
from noisegate.assess.loss import Zeros
from noisegate.assess.recover import Noise
from noisegate.tables import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroRule:
    """What is known about empty cells, from what, and how it was told."""

    rule: Zeros | None
    source: Literal["tables", "card"] | None
    statement: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def zero_rule(structure: Structure, noise: Mapping[str, Noise], /, *, card: Card | None) -> ZeroRule:
    """The zero rule of the base, from the tables if they tell, else from the card."""
    del structure, noise
    if card is not None and card.zeros in ("keep", "perturb"):
        rule: Zeros = "keep" if card.zeros == "keep" else "perturb"
        return ZeroRule(rule=rule, source="card", statement="the card says so")
    return ZeroRule(rule=None, source=None, statement="these tables do not tell")
