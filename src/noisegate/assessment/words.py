"""Numbers as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Parts of a name are joined by this.
_JOINT = ", "
#: Texts that stand in a column of numbers: digits and their signs, and words for what is no number.
_NUMBER = re.compile(
    r"(?:below |above |about |1 in )?[-−]?[\d.,]+(?:e[-+]?\d+)?%?(?: to [-−\d.,]+%?)?(?: \(.*\))?"
)
_NO_NUMBER = frozenset(("–", "never", "none", "not known", "no bound"))


def sets_right(text: str, /) -> bool:
    """Whether a text belongs in a column of numbers."""
    return text in _NO_NUMBER or _NUMBER.fullmatch(text) is not None


def number(value: object, /) -> str:
    """A value in words: thousands apart, four digits that count, `not known` for nothing.

    >>> number(1234567), number(1.3489871), number(1.142e-05), number(None)
    ('1,234,567', '1.349', '0.0000114', 'not known')
    """
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _real(value)
    return str(value)


def _real(value: float, /) -> str:
    if not math.isfinite(value):
        return "without bound" if value > 0 else "not a number"
    size = abs(value)
    if value == int(value) and size < 1e15:
        return f"{int(value):,}"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 1e-3:
        return f"{value:.4g}"
    if size >= 1e-6:
        return f"{float(f'{value:.3g}'):.10f}".rstrip("0")
    return f"{value:.3g}"


def short(value: float, /) -> str:
    """A value with three digits that count.

    >>> short(85.71428), short(1.3489), short(12345.0)
    ('85.7', '1.35', '12,300')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def percent(share: float, /) -> str:
    """A share of one in per cent; never `0%` or `100%` for what is neither.

    >>> percent(0.0190), percent(0.00004), percent(0.99999), percent(1.0)
    ('1.9%', 'below 0.1%', 'above 99.9%', '100%')
    """
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.001:
        return "below 0.1%"
    if share > 0.999:
        return "above 99.9%"
    return f"{share:.1%}" if share < 0.1 or share > 0.9 else f"{share:.0%}"


def chance(probability: float, /) -> str:
    """A probability as odds, two digits that count.

    >>> chance(1.142e-05), chance(0.25), chance(0.0)
    ('1 in 88,000', '25%', 'none')
    """
    if probability <= 0:
        return "none"
    if probability >= 0.1:
        return percent(probability)
    return f"1 in {float(f'{1 / probability:.2g}'):,.0f}"


def interval(ends: object, /) -> str:
    """Both ends of an interval; empty if it is not one."""
    if isinstance(ends, list | tuple) and len(ends) == 2 and all(isinstance(e, int | float) for e in ends):
        return f"{short(ends[0])} to {short(ends[1])}"
    return ""


def objects(value: object, /) -> list[Mapping[str, Any]]:
    """The objects in a list from JSON; empty if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def label(name: str, /) -> str:
    """The name of a number, as words."""
    return name.replace("_", " ").strip()


def plural(count: int, one: str, many: str = "", /) -> str:
    """A count with its noun.

    >>> plural(1, "finding"), plural(3, "finding"), plural(2, "day of the week", "days of the week")
    ('1 finding', '3 findings', '2 days of the week')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def flat(values: Mapping[str, Any], /) -> Iterator[tuple[str, str]]:
    """Nested numbers as pairs of a name and a text.

    >>> list(flat({"pairs": 385, "couplings": [{"gain": 1.41}], "interval": [1.18, 1.52]}))
    [('pairs', '385'), ('couplings 1, gain', '1.41'), ('interval', '1.18 to 1.52')]
    """
    for name, value in values.items():
        yield from _flat(label(str(name)), value)


def _flat(name: str, value: object, /) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _flat(f"{name}{_JOINT}{label(str(inner))}", one)
    elif isinstance(value, list | tuple) and interval(value):
        yield name, interval(value)
    elif isinstance(value, list | tuple) and not any(isinstance(one, Mapping | list) for one in value):
        yield name, _JOINT.join(number(one) for one in value) or "none"
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value, 1):
            yield from _flat(f"{name} {place}", one)
    else:
        yield name, number(value)


def share(value: object, /) -> str:
    """A share in per cent; `not known` if it is none."""
    return percent(float(value)) if isinstance(value, int | float) else "not known"


def ends(value: object, /) -> str:
    """Both ends of an interval of counts or of shares."""
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(end, int | float) for end in value)
    ):
        return "–"
    if all(0 <= end <= 1 for end in value) and any(end != int(end) for end in value):
        return f"{percent(value[0])} to {percent(value[1])}"
    return f"{value[0]:,.0f} to {value[1]:,.0f}"


def plain(value: Any, /) -> Any:
    """The value with nothing in it that JSON has no word for: NumPy numbers, infinities, tuples."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
