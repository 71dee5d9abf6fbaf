"""One question that people ask of a release: predicted before it is made, measured with the truth, answered without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from noisegate.errors import DataError, InternalError, SpecError
from noisegate.tables.domain import Domain
from noisegate.tables.selection import Selection
from noisegate.tables.where import Where, conditions_of

#: What the answer is: how many, how many more, how many for each of others, or which are the most.
Form = Literal["total", "difference", "ratio", "rank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A total under some conditions, by some dimensions; `top` asks for the largest groups only.

    Attributes
    ----------
    name
        What a workload calls it.
    where
        For each dimension that has a condition the labels and ranges, any of which is meant.
    by
        The dimensions whose labels are told apart.
    top
        Only so many of the largest groups; None asks for all.
    less, per
        Conditions in place of those of `where` for the same dimensions: `less` asks how many more than under these, `per` how many for
        each one under these. None asks for neither.
    wanted
        The mean absolute error to aim for; None if nobody said.
    reason
        Why no table answers it, where a card says so.

    Examples
    --------
    >>> Question.ask("rush", where="mode=ferry,time=07:00..09:00", by="stop", top=3).form
    'rank'
    >>> Question.ask("ferries beside buses", where="mode=ferry", per="mode=bus").form
    'ratio'
    """

    name: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    top: int | None = None
    wanted: float | None = None
    reason: str | None = None
    less: Mapping[str, tuple[str, ...]] | None = None
    per: Mapping[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if self.less is not None and self.per is not None:
            raise SpecError(
                f"question {self.name!r} asks for a difference and for a ratio; ask for one of them."
            )

    @classmethod
    def ask(
        cls,
        name: str,
        /,
        *,
        where: Where = None,
        by: str | Iterable[str] = (),
        top: int | None = None,
        wanted: float | None = None,
        less: Where = None,
        per: Where = None,
    ) -> Self:
        """A question with its conditions in any form that `noisegate.tables.where` reads."""
        return cls(
            name=name,
            where=conditions_of(where),
            by=(by,) if isinstance(by, str) else tuple(by),
            top=top,
            wanted=wanted,
            less=None if less is None else conditions_of(less),
            per=None if per is None else conditions_of(per),
        )

    @property
    def form(self) -> Form:
        """Whether it asks for totals, differences, ratios, or for the largest groups."""
        if self.less is not None:
            return "difference"
        if self.per is not None:
            return "ratio"
        return "total" if self.top is None else "rank"

    @property
    def dimensions(self) -> frozenset[str]:
        """All dimensions that it uses."""
        return frozenset((*self.by, *self.where))

    def put(self, domain: Domain, /, *, at: str = "") -> Asked:
        """The question put to a base: what it selects, or why no table answers it.

        Parameters
        ----------
        domain
            The cells of the base.
        at
            The place of the conditions, such as "workload.rush.where", for messages.

        Raises
        ------
        SpecError
            If a dimension does not have what a condition names.
        """
        lacking = [name for name in (*self.by, *self.where) if name not in domain.names]
        if self.reason is not None:
            return Asked(question=self, reason=self.reason)
        if lacking:
            return Asked(question=self, reason=f"no table has {' or '.join(dict.fromkeys(lacking))}")
        found = Selection.parse(self.where, domain, by=self.by, whole=False, at=at)
        reason = "no cell of the domain meets its conditions" if found.empty else None
        return Asked(question=self, selected=found, reason=reason)

    def to_json(self) -> dict[str, Any]:
        """The question as a card lists it."""
        return {
            "name": self.name,
            "where": {dimension: list(parts) for dimension, parts in self.where.items()},
            "by": list(self.by),
            "top": self.top,
        }

    @classmethod
    def from_json(cls, entry: Any, /) -> Self:
        """The question in one entry of a card's workload.

        Raises
        ------
        DataError
            If it is in another form.
        """
        try:
            return cls(
                name=str(entry["name"]),
                where=conditions_of(dict(entry["where"].items())),
                by=tuple(map(str, entry["by"])),
                top=None if entry["top"] is None else int(entry["top"]),
                reason=None if entry["answered"] else str(entry["reason"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            raise DataError(
                "The card lists a workload in another form than this program writes; give the questions with --workload."
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A question put to a base: what it selects, or the reason why no table answers it."""

    question: Question
    selected: Selection | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """What the workload calls it."""
        return self.question.name

    @property
    def selection(self) -> Selection:
        """How much of each label is asked for; there is one unless the base lacks a dimension."""
        if self.selected is None:
            raise InternalError(f"question {self.name!r} selects nothing: {self.reason}")
        return self.selected
