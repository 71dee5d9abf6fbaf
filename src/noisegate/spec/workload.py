"""The workload of a release: the questions that people will ask of it, written down before it is made.

Each question is a total, by some dimensions, under some conditions; `top` asks for the largest groups only. Conditions
are written as in a query: `mode: ferry`, `mode: [ferry, train]`, `time: 07:00..09:00`, `date: 2016-07-25..2016-07-29`.
A question may ask for more than the tables show (a part of a bin, a stop that is merged): what that costs is part
of its error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PlainValidator

from noisegate.errors import SpecError
from noisegate.spec.fields import AtLeastOne, Positive, SpecBlock, refusal, shown
from noisegate.tables import Question, spelled_parts


def _where(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise refusal(f"must be a block such as {{mode: ferry, time: 07:00..09:00}}, got {shown(value)}")
    found = {}
    for name, inner in value.items():
        try:
            found[str(name)] = spelled_parts(inner, at=str(name))
        except SpecError:
            raise refusal(
                f"must be a value, a list of values or a range such as 07:00..09:00, got {shown(inner)}",
                at=[str(name)],
            ) from None
    return found


def _names(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(one, str) for one in listed):
        raise refusal(f"must be a dimension or a list of them, got {shown(value)}")
    if len(set(listed)) != len(listed):
        raise refusal("names a dimension twice; name each once")
    return tuple(map(str, listed))


class QuestionBlock(SpecBlock):
    """One total, by some dimensions, under some conditions; `wanted` is the mean absolute error to aim for."""

    where: Annotated[dict[str, tuple[str, ...]], PlainValidator(_where)] = Field(default_factory=dict)
    by: Annotated[tuple[str, ...], PlainValidator(_names)] = ()
    top: AtLeastOne | None = None
    wanted: Positive | None = None

    def __repr_name__(self) -> str:
        # The digest of a spec, which ledgers keep, is that of its text.
        return "Question"

    def named(self, name: str, /) -> Question:
        """The question under its name."""
        wanted = None if self.wanted is None else float(self.wanted)
        return Question(name=name, where=self.where, by=self.by, top=self.top, wanted=wanted)
