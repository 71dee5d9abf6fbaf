"""What a person may ask of the exact samplers, checked and taken as the exact number it is.

A float is a rational number; it is used as that one, so a bound on the distance from the ideal
law is with respect to exactly the scale that was given.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import DataError, SpecError

#: A scale or a probability. NumPy's own number types are welcome too.
Number: TypeAlias = int | float | Fraction | Decimal

LARGEST_SCALE = 2**40
LARGEST_SIGMA = 2**15
LARGEST_INTEGER = 2**53
_SMALLEST = Fraction(1, 10**300)
_LARGEST_DECIMAL_EXPONENT = 1000  # beyond, a Fraction would need megabytes


def as_scale(value: Number, /) -> Fraction:
    """`value` as the rational number it is, once it is known to be a usable scale."""
    scale = _rational(value)
    if scale is None or not _SMALLEST <= scale <= LARGEST_SCALE:
        raise SpecError.for_value(
            "scale", found=value, allowed="a finite number above 0 (from 1e-300 to 2**40)"
        )
    return scale


def as_sigma(value: Number, /) -> Fraction:
    """`value` as the rational number it is, once it is known to be a usable standard deviation."""
    sigma = _rational(value)
    if sigma is None or not _SMALLEST <= sigma <= LARGEST_SIGMA:
        raise SpecError.for_value(
            "sigma",
            found=value,
            allowed=f"a finite number above 0 (from 1e-300 to {LARGEST_SIGMA})",
            way_out="For wider noise use discrete Laplace.",
        )
    return sigma


def as_probability(value: Number, /) -> Fraction:
    """`value` as a rational number from 0 to 1.

    A decimal below 1e-1000 becomes 0: far less than the 2**-320 that fixed point keeps.
    """
    small = isinstance(value, Decimal) and value.is_finite() and value.adjusted() < -_LARGEST_DECIMAL_EXPONENT
    if small and value >= 0:
        return Fraction(0)
    probability = _rational(value)
    if probability is None or not 0 <= probability <= 1:
        raise SpecError.for_value("success", found=value, allowed="a probability from 0 to 1")
    return probability


def as_threshold(value: int, /) -> int:
    """`value` as an int, once it is known to be a usable threshold."""
    return _integer(value, name="threshold", least=0, most=LARGEST_INTEGER)


def as_width(value: int, /) -> int:
    """`value` as an int, once it is known to be a usable width of uniform noise."""
    return _integer(value, name="width", least=0, most=LARGEST_INTEGER)


def as_base(value: int, /) -> int:
    """`value` as an int, once it is known to be a usable base to round to."""
    return _integer(value, name="base", least=1, most=LARGEST_INTEGER)


def as_size(value: int, /) -> int:
    """`value` as an int, once it is known to be a number of draws."""
    return _integer(value, name="size", least=0, most=2**48)


def as_trials(value: int, /) -> int:
    """`value` as an int, once it is known to be a number of trials."""
    return _integer(value, name="trials", least=0, most=2**44)


def as_counts(counts: ArrayLike, /) -> NDArray[np.int64]:
    """`counts` as int64, once they are known to be integers that rounding cannot overflow."""
    found = np.asarray(counts)
    if found.size == 0:
        return found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise DataError(f"counts must be integers, got {found.dtype}. Convert them to int64 first.")
    if int(found.max()) > LARGEST_INTEGER or int(found.min()) < -LARGEST_INTEGER:
        raise DataError("counts must lie between -2**53 and 2**53; at least one does not.")
    return found.astype(np.int64)


def _integer(value: object, /, *, name: str, least: int, most: int) -> int:
    number = _rational(value)
    if number is None or number.denominator != 1 or not least <= number <= most:
        limit = f"2**{most.bit_length() - 1}"
        raise SpecError.for_value(name, found=value, allowed=f"a whole number from {least} to {limit}")
    return int(number)


def _rational(value: object, /) -> Fraction | None:
    """`value` as exactly the rational number it is, or None if it is no finite number."""
    match value:
        case bool() | np.bool_():
            return None
        case int() | np.integer():
            return Fraction(int(value))
        case Fraction():
            return value
        case float() | np.floating():
            return Fraction(*value.as_integer_ratio()) if math.isfinite(value) else None
        case Decimal():
            short = value.is_finite() and abs(value.adjusted()) <= _LARGEST_DECIMAL_EXPONENT
            return Fraction(value) if short else None
        case _:
            return None
