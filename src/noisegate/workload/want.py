"""What somebody wants to know, and how closely: `by mode: 5%, by location: 50, peak: 20`.

Each part names a question and an error that 19 answers in 20 must stay within. The question is one of the workload or
a table, by its name, or `total`, or `by` some dimensions, perhaps `where` something holds, as in a query. The error is a number of events, or a
percentage: of counts that stand in for the truth (`--like`), or of a size that is given (`5% of 2000`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from noisegate.errors import SpecError
from noisegate.releases import asked_questions
from noisegate.spec import ReleaseSpec, did_you_mean
from noisegate.tables import Asked, Question

#: A part of the text: everything up to a colon that an error follows.
_PART = re.compile(
    r"\s*(?P<question>[^,].*?):\s*(?P<error>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*%?(?:\s+of\s+\d+(?:\.\d+)?)?)\s*(?:,|$)"
)
_ERROR = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<percent>%)?(?:\s+of\s+(?P<size>\d+(?:\.\d+)?))?"
)
_EXAMPLE = "by mode: 5%, by location: 50"

Wants = str | Mapping[str, str | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """One question, and the error that 19 answers in 20 must stay within.

    `percent` is None for an error in events. `size` is the count that a percentage is of, where somebody said.
    """

    question: Question
    error: float
    percent: bool = False
    size: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.error) and self.error > 0):
            raise SpecError.for_value(
                f"the error wanted of {self.question.name!r}", found=self.error, allowed="a number above 0"
            )

    @property
    def text(self) -> str:
        """The error in words."""
        of = f" of {self.size:,.6g}" if self.size is not None else ""
        return f"{self.error:.6g}%{of}" if self.percent else f"{self.error:,.6g}"


def parse_wants(wants: Wants, spec: ReleaseSpec, /) -> tuple[Want, ...]:
    """What is wanted of a spec's release, from text or from a mapping of questions to errors.

    Raises
    ------
    SpecError
        If a part is no question with an error, or the spec does not have what it names.
    """
    parts = _split(wants) if isinstance(wants, str) else [(str(k), str(v)) for k, v in wants.items()]
    if not parts:
        raise SpecError(f"nothing is wanted; write questions with their errors, such as {_EXAMPLE!r}.")
    names = [name for name, _ in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"{twice!r} is wanted twice; keep one of them.")
    return tuple(_want(spec, name, error) for name, error in parts)


def _split(text: str, /) -> list[tuple[str, str]]:
    found, place = [], 0
    while place < len(text.rstrip()):
        part = _PART.match(text, place)
        if part is None:
            raise SpecError(
                f"a wanted error looks like {_EXAMPLE!r}: a question, a colon, a number of events or a percentage; "
                f"got {text[place:].strip()!r}."
            )
        found.append((part["question"].strip(), part["error"].strip()))
        place = part.end()
    return found


def _want(spec: ReleaseSpec, name: str, error: str, /) -> Want:
    read = _ERROR.fullmatch(error.strip())
    if read is None or (read["size"] and not read["percent"]):
        raise SpecError(
            f"the error wanted of {name!r} must be a number of events such as 50, or a percentage such as 5% "
            f"or 5% of 2000, got {error!r}."
        )
    return Want(
        question=_question(spec, name),
        error=float(read["number"]),
        percent=read["percent"] is not None,
        size=float(read["size"]) if read["size"] else None,
    )


def _question(spec: ReleaseSpec, name: str, /) -> Question:
    """The question that a name means: one of the workload, the total, or one by some dimensions."""
    known = {question.name: question for question in spec.questions}
    if name in known:
        return known[name]
    if name in spec.tables:
        return Question.ask(name, by=spec.tables[name])
    by, _, where = name.partition(" where ")
    words = by.split(None, 1)
    if by.strip() == "total":
        return Question.ask(name, where=where or None)
    if len(words) == 2 and words[0] == "by":
        dimensions = tuple(one.strip() for one in re.split(r"\s+and\s+|\s*\+\s*", words[1]))
        for one in dimensions:
            if one not in spec.dimensions:
                hint = did_you_mean(one, spec.dimensions) or f"; there are {', '.join(spec.dimensions)}"
                raise SpecError(f"{name!r} names a dimension {one!r} that the spec does not have{hint}")
        return Question.ask(name, by=dimensions, where=where or None)
    hint = did_you_mean(name, known)
    raise SpecError(
        f"{name!r} is no question of the workload{hint}{'' if hint else ','} no table, nor one such as "
        f"'by mode', 'by mode and date', 'by stop where mode=ferry' or 'total'."
    )


def put_wants(wants: tuple[Want, ...], spec: ReleaseSpec, /) -> dict[str, Asked]:
    """The questions put to the cells of the release; refuses one that no table answers."""
    found = {}
    for want in wants:
        bare = replace(want.question, wanted=None, reason=None)
        (asked,) = asked_questions(spec, questions=(bare,))
        if asked.reason is not None:
            raise SpecError(f"{want.question.name!r} cannot be answered: {asked.reason}.")
        found[want.question.name] = asked
    return found
