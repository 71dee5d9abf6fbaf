"""What a card says about a release, as far as a reader needs it to compute intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from noisegate.errors import DataError, SpecError
from noisegate.laws import make_law
from noisegate.laws._law import LatticeLaw
from noisegate.margins.sum_errors import Method
from noisegate.mechanisms.mechanism import Mechanism, Zeros
from noisegate.tables.domain import Domain
from noisegate.tables.margin import Margin
from noisegate.tables.stated import stated_domain

CARD = "card.json"
_NO_CARD = (
    "Only a card says how the noise was made. For tables of other makers, 'noisegate assess TABLE...' recovers "
    "the noise and bounds every cell."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatedTable:
    """One published table: its cells, and how each was made.

    `law` is the noise of its own measurement; None if it is only summed. `margin` is None for the base.
    """

    name: str
    domain: Domain
    margin: Margin | None
    law: LatticeLaw | None
    least: int | None
    zeros: Zeros

    @property
    def mechanism(self) -> Mechanism:
        """How a raw count of this table became a published one, by its own noise."""
        if self.law is None:
            raise SpecError(f"table {self.name!r} has no noise of its own.")
        return Mechanism(law=self.law, threshold=self.least, rule="ge", zeros=self.zeros)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statement:
    """A release as its card states it."""

    folder: Path
    name: str
    method: Method
    domain: Domain
    base: StatedTable
    margins: tuple[StatedTable, ...]
    merged: Mapping[str, Mapping[str, tuple[str, ...]]]
    card: Mapping[str, Any]

    @property
    def tables(self) -> tuple[StatedTable, ...]:
        """The base, then the margins."""
        return (self.base, *self.margins)


def read_statement(folder: Path, /) -> Statement:
    """The statement on the card in `folder`; refuses a place without a card of ours."""
    card = _card(folder)
    try:
        return _statement(folder, card)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as problem:
        if isinstance(problem, SpecError):
            raise DataError(f"The card in {folder} cannot be used: {problem}") from None
        raise DataError(
            f"The card in {folder} lacks what a query needs, or has it in another form. {_NO_CARD}"
        ) from None


def _card(folder: Path, /) -> dict[str, Any]:
    if not folder.is_dir():
        raise DataError(
            f"There is no directory {str(folder)!r}; give the directory that 'noisegate release' made."
        )
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"The directory {str(folder)!r} has no {CARD}. {_NO_CARD}") from None
    except (OSError, ValueError):
        raise DataError(f"{folder / CARD} cannot be read as JSON. {_NO_CARD}") from None
    if not isinstance(card, dict) or (card.get("software") or {}).get("name") != "noisegate":
        raise DataError(f"{folder / CARD} is not the card of a noisegate release. {_NO_CARD}")
    return card


def _statement(folder: Path, card: dict[str, Any], /) -> Statement:
    method, zeros = card["mechanism"]["margins"], card["mechanism"]["zeros"]
    if method not in get_args(Method):
        raise SpecError.for_choice("margins", found=method, allowed=get_args(Method))
    parts = card["tables"]
    base_name = next(name for name, part in parts.items() if part["base"])
    merged = {
        name: {label: tuple(values) for label, values in groups.items()}
        for name, groups in card["domain"].get("merged", {}).items()
    }
    domain = stated_domain(card["domain"], parts[base_name]["dimensions"])

    def table(name: str) -> StatedTable:
        part = parts[name]
        margin = None if name == base_name else Margin.over(domain, part["dimensions"])
        return StatedTable(
            name=name,
            domain=domain if margin is None else margin.domain,
            margin=margin,
            law=_law(part["noise"]),
            least=None if part["threshold"] is None else int(part["threshold"]["value"]),
            zeros=zeros,
        )

    return Statement(
        folder=folder,
        name=str(card["name"]),
        method=cast("Method", method),
        domain=domain,
        base=table(base_name),
        margins=tuple(table(name) for name in parts if name != base_name),
        merged=merged,
        card=card,
    )


def _law(noise: Mapping[str, Any] | None, /) -> LatticeLaw | None:
    return None if noise is None else cast("LatticeLaw", make_law(noise["law"], scale=noise["scale"]))
