"""The kinds of value that a spec holds: each reads text, and says in one phrase what it wants.

A refused value raises `refusal`, whose phrase continues the place: "privacy.epsilon" + "must be more
than 0, got '-1'". No number passes through a binary float on its way: `2.0` is exactly two.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from noisegate.tables import clock_of

T = TypeVar("T")

_NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?)", re.ASCII)
SPAN = re.compile(r"(\d{1,6})\s*(s|min|h)", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_FLAGS = {"true": True, "false": False, "yes": True, "no": False}
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_LONGEST_NUMBER = 100


def refusal(phrase: str, /, *, at: Iterable[str | int] = (), more: int = 0) -> PydanticCustomError:
    """An error whose phrase continues the place it is raised at; `at` goes deeper, `more` counts others."""
    # The phrase travels beside the template, since the template would read braces in it.
    return PydanticCustomError("refused", "refused", {"phrase": phrase, "at": tuple(at), "more": more})


def placed(read: Callable[[object], T], value: object, /, *, at: Iterable[str | int]) -> T:
    """`read(value)`, with a refusal of it moved to the place `at`."""
    try:
        return read(value)
    except PydanticCustomError as error:
        raise refusal(str((error.context or {})["phrase"]), at=at) from None


def did_you_mean(found: object, choices: Iterable[str], /) -> str:
    """A hint at the nearest choice, or nothing."""
    near = difflib.get_close_matches(str(found), list(choices), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def one_of(*choices: str) -> PlainValidator:
    """A word out of a fixed list."""

    def check(value: object) -> object:
        if value in choices:
            return value
        hint = did_you_mean(value, choices)
        raise refusal(f"must be one of {', '.join(choices)}, got {value!r}{hint}")

    return PlainValidator(check)


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise refusal(f"must be text, got {shown(value)}")
    return str(value)


def word(value: object, /) -> str:
    """A name that can also name a file."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise refusal(f"must be a name of letters, digits, dots, dashes and underscores, got {shown(value)}")
    return value


def exact(value: object, /) -> Fraction:
    """A number as exactly what was written: no digit passes through a binary float."""
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if isinstance(value, bool) or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise refusal(f"must be a number such as 2, 0.5 or 1/3, got {shown(value)}")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise refusal(f"must be a number such as 2, 0.5 or 1/3, got {shown(value)}") from None


def _positive(value: object) -> Fraction:
    number = exact(value)
    if number <= 0:
        raise refusal(f"must be more than 0, got {shown(value)}")
    return number


def _share(value: object) -> Fraction:
    number = exact(value)
    if not 0 < number < 1:
        raise refusal(f"must lie between 0 and 1, got {shown(value)}")
    return number


def _at_least_one(value: object) -> int:
    number = exact(value)
    if number.denominator != 1 or not 1 <= number < 2**31:
        raise refusal(f"must be a whole number of at least 1, got {shown(value)}")
    return int(number)


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in _FLAGS:
        raise refusal(f"must be true or false, got {shown(value)}")
    return _FLAGS[str(value).lower()]


def day(value: object, /) -> date:
    """A date as it is written: 2016-07-25."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise refusal(f"must be a date such as 2016-07-25, got {shown(value)}") from None


def seconds(value: object, /) -> int:
    """A time span in seconds: 15min, 1h, 30s."""
    found = SPAN.fullmatch(str(value).strip())
    if found is None or int(found[1]) == 0:
        raise refusal(f"must be a time span such as 15min, 1h or 30s, got {shown(value)}")
    return int(found[1]) * _SECONDS[found[2]]


def clock(value: object, /) -> int:
    """A time of day in seconds after midnight: 06:00, or 24:00 for its end."""
    at_s = clock_of(str(value))
    if at_s is None:
        raise refusal(f"must be a time of day such as 06:00, got {shown(value)}")
    return at_s


def shown(value: object) -> str:
    """A value as a message shows it."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, list | tuple):
        return "a list"
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def span_text(seconds: int, /) -> str:
    """A time span as a spec writes it: 15min, 1h, 30s."""
    for unit in ("h", "min"):
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def clock_text(at_s: int, /, *, step_s: int) -> str:
    """A time of day as tables show it: 06:15, or 06:15:30 where bins are not whole minutes."""
    text = f"{at_s // 3600:02d}:{at_s // 60 % 60:02d}"
    return text if step_s % 60 == 0 else f"{text}:{at_s % 60:02d}"


Text = Annotated[str, PlainValidator(_text)]
Word = Annotated[str, PlainValidator(word)]
Positive = Annotated[Fraction, PlainValidator(_positive)]
Share = Annotated[Fraction, PlainValidator(_share)]
AtLeastOne = Annotated[int, PlainValidator(_at_least_one)]
Flag = Annotated[bool, PlainValidator(_flag)]
Day = Annotated[date, PlainValidator(day)]
Span = Annotated[int, PlainValidator(seconds)]
Clock = Annotated[int, PlainValidator(clock)]


class SpecBlock(BaseModel):
    """A frozen block of keys; a key it does not know is refused with the nearest one it does.

    A key with nothing after it counts as not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise refusal(f"must be a block of keys ({', '.join(cls.known_keys())}), got {shown(data)}")
        unknown = [key for key in data if key not in cls.known_keys()]
        if unknown:
            key = str(unknown[0])
            hint = did_you_mean(key, cls.known_keys()) or f"; known here: {', '.join(cls.known_keys())}"
            raise refusal(f"is not a known key{hint}", at=[key], more=len(unknown) - 1)
        return {key: value for key, value in data.items() if value is not None}

    @property
    def description(self) -> str | None:
        """What the values of a dimension mean, where they do not say so themselves; None for all other blocks."""
        return None

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys as they are written in a spec."""
        return [field.alias or name for name, field in cls.model_fields.items()]
