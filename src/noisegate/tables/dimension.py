"""A dimension: an attribute with a public, finite list of values, and what the values mean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError, SpecError
from noisegate.tables.spelling import find_label

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: The ordinal of a value that has no place in the order: text, or unknown.
NO_ORDINAL = np.iinfo(np.int64).min


class Kind(StrEnum):
    """What the values of a dimension are."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """An attribute with a public, finite list of values; code k stands for the k-th label.

    Two dimensions are equal if they have the same name and the same labels.

    Attributes
    ----------
    name
        The column's name, or the one that somebody gave it.
    values
        What an event can hold, as written, in natural order; values that mean "not known" last.
    groups
        Labels of merged values; they come after the values.
    kind, written
        What the values are, and in words how a file writes them.
    keys
        The labels in one spelling for all files (ISO dates, HH:MM, folded text); the labels themselves if not given.
    ordinals
        Days since 1970 for dates, minutes since midnight for times, the number for numbers; `NO_ORDINAL` for
        text and for unknown values.
    unknown
        Which labels mean "not known" (-1, UNKNOWN, blank). They stay values like any other.
    step
        Width of the time bins in minutes; None for other kinds, or when one bin is all there is.

    Examples
    --------
    >>> Dimension(name="tap", values=("on", "off")).labels
    ('on', 'off')
    """

    name: str
    values: tuple[str, ...]
    groups: tuple[str, ...] = ()
    kind: Kind = field(default=Kind.TEXT, compare=False)
    written: str = field(default="", compare=False, repr=False)
    keys: tuple[str, ...] = field(default=(), compare=False, repr=False)
    ordinals: Ints = field(default_factory=lambda: np.empty(0, np.int64), compare=False, repr=False)
    unknown: Mask = field(default_factory=lambda: np.empty(0, bool), compare=False, repr=False)
    step: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise SpecError(f"dimension {self.name!r} has no values; list at least one.")
        if len(set(self.labels)) != len(self.labels):
            seen: set[str] = set()
            twice = next(label for label in self.labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
            raise SpecError(
                f"dimension {self.name!r} would show {twice!r} for two things; rename one of them."
            )
        self._fill_in()
        sizes = {self.size, len(self.keys), self.ordinals.size, self.unknown.size}
        if len(sizes) != 1 or len(set(self.keys)) != len(self.keys):
            raise InternalError(f"the values of dimension {self.name!r} do not line up")

    def _fill_in(self) -> None:
        """What is not said of the labels: they are spelled as they are, have no order and are all known."""
        if not self.keys:
            object.__setattr__(self, "keys", self.labels)
        if not self.ordinals.size:
            object.__setattr__(self, "ordinals", np.full(self.size, NO_ORDINAL))
        if not self.unknown.size:
            object.__setattr__(self, "unknown", np.zeros(self.size, dtype=bool))

    @property
    def labels(self) -> tuple[str, ...]:
        """What a table can show: the values, then the groups."""
        return self.values + self.groups

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.values) + len(self.groups)

    def code(self, label: object, /) -> int:
        """The code of a label given as text in any spelling, or as an integer, a date or a time.

        Raises
        ------
        SpecError
            If it has none; the message names the nearest.

        Examples
        --------
        >>> Dimension(name="zone", values=("07", "12")).code(7)
        0
        """
        return find_label(label, self.labels, subject=self.name, keys=self.keys)

    def with_groups(self, groups: tuple[str, ...], /) -> Self:
        """The dimension with more labels of merged values."""
        return replace(
            self,
            groups=self.groups + groups,
            keys=self.keys + groups,
            ordinals=np.append(self.ordinals, np.full(len(groups), NO_ORDINAL)),
            unknown=np.append(self.unknown, np.zeros(len(groups), dtype=bool)),
        )

    def take(self, codes: NDArray[Any], /) -> Self:
        """The dimension with only these labels, in this order, each a value."""
        index = codes.tolist()
        labels = self.labels
        return replace(
            self,
            values=tuple(labels[k] for k in index),
            groups=(),
            keys=tuple(self.keys[k] for k in index),
            ordinals=self.ordinals[codes],
            unknown=self.unknown[codes],
        )
