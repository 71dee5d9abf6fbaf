"""The card of a release, as far as an assessment uses it: what it says about noise, cuts, zeros and loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from noisegate import limits
from noisegate.errors import DataError
from noisegate.tables.table import Table

#: What a card is called when it lies beside the tables.
NAME = "card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTable:
    """What the card says about one table; `scale` is None where a table was summed from another."""

    name: str
    dimensions: frozenset[str]
    law: str | None
    scale: float | None
    least: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card that was read.

    `zeros` and `margins` are as in a release spec; the losses are None where the card does not bound them.
    `person_events` is None when the loss of a person holds however many events there are.
    """

    path: Path
    tables: tuple[CardTable, ...]
    unit: str
    zeros: str | None
    margins: str | None
    event_epsilon: float | None
    person_epsilon: float | None
    person_events: int | None
    delta: float | None

    def of(self, cells: Table, /) -> CardTable | None:
        """What the card says about a table: the one of its name, else the only one with its dimensions."""
        named = [table for table in self.tables if table.name == cells.name]
        dimensions = frozenset(dimension.name for dimension in cells.dimensions)
        alike = [table for table in self.tables if table.dimensions == dimensions]
        return named[0] if named else alike[0] if len(alike) == 1 else None

    @classmethod
    def parse(cls, document: Any, path: Path, /) -> Self:
        """The card in a JSON document.

        Raises
        ------
        DataError
            If it is not a card of a release.
        """
        try:
            mechanism, loss = document["mechanism"], document["privacy_loss"]
            return cls(
                path=path,
                tables=tuple(_table(name, part) for name, part in document["tables"].items()),
                unit=str(document["privacy_unit"]),
                zeros=mechanism.get("zeros"),
                margins=mechanism.get("margins"),
                event_epsilon=_number(loss["event"], "epsilon"),
                person_epsilon=_number(loss["person"] or loss["person_example"], "epsilon"),
                person_events=None if loss["person"] else int(loss["person_example"]["events"]),
                delta=_number(loss["event"], "delta"),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise DataError(
                f"{path} is not the card of a release: it does not say how the tables were made. "
                "Leave --card out, or move the file away from the tables."
            ) from problem


def read_card(given: Path | None, tables: Sequence[Path], /) -> Card | None:
    """The card that was named, or the one that lies beside the tables; None if there is none.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    path = given
    if path is None:
        folders = {table.parent for table in tables}
        beside = folders.pop() / NAME if len(folders) == 1 else None
        if beside is None or not beside.is_file():
            return None
        path = beside
    try:
        if path.stat().st_size > limits.current().card_bytes:
            raise DataError(f"The card {path} is larger than 64 MiB; that is no card.")
        document = json.loads(path.read_bytes())
    except OSError as problem:
        reason = (problem.strerror or "it cannot be opened").lower()
        raise DataError(f"Cannot read the card {path}: {reason}.") from None
    except (ValueError, RecursionError):
        raise DataError(f"The card {path} is not JSON; name the card.json of the release.") from None
    return Card.parse(document, path)


def _table(name: str, part: Any, /) -> CardTable:
    noise, cut = part["noise"], part["threshold"]
    return CardTable(
        name=name,
        dimensions=frozenset(part["dimensions"]),
        law=None if noise is None else str(noise["law"]),
        scale=None if noise is None else float(noise["scale"]),
        least=None if cut is None else float(cut["value"]),
    )


def _number(part: Any, name: str, /) -> float | None:
    return None if part is None or part[name] is None else float(part[name])
