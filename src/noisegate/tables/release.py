"""A release: published tables, and the card that says how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noisegate.tables.card import Card
from noisegate.tables.domain import Domain
from noisegate.tables.table import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release:
    """Published tables, the base first, and the card that says how they were made, if there is one."""

    tables: tuple[Table, ...]
    card: Card | None = None
    folder: Path | None = None

    @property
    def base(self) -> Table:
        """The finest table."""
        return self.tables[0]

    @property
    def margins(self) -> tuple[Table, ...]:
        """All tables but the base."""
        return self.tables[1:]

    def table(self, name: str, /) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def domain(self) -> Domain:
        """The cells of the base."""
        return self.base.domain

    @property
    def name(self) -> str:
        """The name on the card, else that of the base."""
        return self.base.name if self.card is None or self.card.name is None else self.card.name

    def __repr__(self) -> str:
        return "\n".join([f"Release {self.name}", *(f"  {table!r}" for table in self.tables)])
