"""An inquiry: one question that is asked of a release, with everything that belongs to it.

Each question is a module of this package: its finding, numbers, baseline, words, tables and picture, without anything that
draws or writes. A module is an `Inquiry` by having what the protocol names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from noisegate.assessment.finding import Result
from noisegate.assessment.words import number, sets_right
from noisegate.errors import InternalError

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts
    from noisegate.pictures import PictureData

#: The sections of a report that tables and figures stand in, in the order of the page.
Section = Literal["tables", "who", "cells", "services", "dropped", "weeks", "microdata", "utility"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A kind of finding or check in words.

    Attributes
    ----------
    says
        What it says, in one sentence.
    meaning
        What that means to somebody who decides, without a number; empty if it can only be a check.
    method
        How it is worked out; empty if it can only be a check.
    """

    says: str
    meaning: str = ""
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: caption, names of columns, rows of texts; `numeric` columns are set to the right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InternalError("the rows of a table in the report do not fit its columns")

    @classmethod
    def of(
        cls, caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], /, *, most: int = 60
    ) -> Grid:
        """A table of any values, as many rows as are worth reading; columns of numbers are set to the right."""
        every = list(rows)
        shown = [tuple(number(value) for value in row) for row in every[:most]]
        numeric = [
            place for place in range(len(columns)) if shown and all(sets_right(row[place]) for row in shown)
        ]
        return cls(
            caption=caption,
            columns=tuple(columns),
            rows=tuple(shown),
            numeric=tuple(numeric),
            left_out=len(every) - len(shown),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """A picture as plain data, with everything that stands around it.

    Attributes
    ----------
    key
        Its name; a figure is drawn once.
    caption
        What it shows, and how to read it.
    alt
        What it says, with the main number, for those who do not see it.
    picture
        What it is drawn from.
    data
        The numbers behind it.
    about
        The kinds of finding it belongs to, the closest first.
    table
        The table it is about, if it is about one.
    number
        Its place on a page, from 1.
    """

    key: str
    caption: str
    alt: str
    picture: PictureData
    data: Grid | None = None
    about: tuple[str, ...] = ()
    table: str = ""
    number: int = 0

    @property
    def anchor(self) -> str:
        """Where it stands on a page."""
        return f"figure-{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A text to copy, line by line as it is."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """What a question has to show beside its finding, and the section that it stands in."""

    section: Section
    paragraphs: tuple[str, ...] = ()
    grids: Sequence[Grid] = ()
    figures: Sequence[Figure] = ()
    listings: Sequence[Listing] = ()


class Inquiry(Protocol):
    """One question that is asked of a release."""

    @property
    def WORDS(self) -> Mapping[str, Words]:  # noqa: N802 - a constant of a module
        """The words of each kind of finding and check that it can make."""
        ...

    def ask(self, facts: Facts, /) -> list[Result]:
        """What it finds in a release: findings to act on, and checks."""
        ...

    def show(self, assessment: Assessment, /) -> Exhibit | None:
        """The tables and figures that stand beside it; None if there is nothing to show."""
        ...
